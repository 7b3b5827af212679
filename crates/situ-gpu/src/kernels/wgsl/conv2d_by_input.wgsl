// b0 the gradient by the result, b1 filters. Each pixel looks back at the windows that it was in; where there is none, the
// gradient is zero, as padding is.
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let i = decode(e, sizes.y * more.z, image.x, image.y);
    let group = i.y / sizes.y;
    let c = i.y % sizes.y;
    var sum = 0.0;
    for (var o = group * more.w; o < (group + 1u) * more.w; o++) {
        var part = 0.0;
        for (var kh = 0u; kh < sizes.z; kh++) {
            let y = i.z + more.x;
            let down = y - kh * own.z;
            let in_rows = y >= kh * own.z && down % own.x == 0u && down / own.x < image.z;
            for (var kw = 0u; kw < sizes.w; kw++) {
                let x = i.w + more.y;
                let across = x - kw * own.w;
                var pixel = p(62u);
                if in_rows && x >= kw * own.w && across % own.y == 0u && across / own.y < image.w {
                    pixel = b0[params.w[1].x + at(params.w[7], vec4<u32>(i.x, o, down / own.x, across / own.y))];
                }
                let by = at(params.w[6], vec4<u32>(o, c, kh, kw));
                part += bitcast<f32>(pixel) * bitcast<f32>(b1[params.w[1].y + by]);
            }
        }
        sum += part;
    }
    return bitcast<u32>(sum);
}
