// b0 the gradient by the result, b1 filters. Each pixel looks back at the windows that it was in. Elements of
// the filter that a stride never let it meet are passed over; beyond the gradient's ends are zeros, which are
// multiplied as padding is. Loops are cut into boxes: w[9] and w[10].
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let i = decode(e, sizes.y * more.z, image.x, image.y);
    let group = i.y / sizes.y;
    let c = i.y % sizes.y;
    let outer = params.w[9];
    let inner = params.w[10];
    let y = i.z + more.x;
    let x = i.w + more.y;
    var sum = before(e);
    for (var o = group * more.w + outer.x; o < group * more.w + outer.y; o++) {
        var part = 0.0;
        for (var kh = outer.z; kh < outer.w; kh++) {
            if y % own.x != kh * own.z % own.x { continue; }
            let down = y - kh * own.z;
            let in_rows = y >= kh * own.z && down / own.x < image.z;
            for (var kw = inner.x; kw < inner.y; kw++) {
                if x % own.y != kw * own.w % own.y { continue; }
                let across = x - kw * own.w;
                var pixel = p(62u);
                if in_rows && x >= kw * own.w && across / own.y < image.w {
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
