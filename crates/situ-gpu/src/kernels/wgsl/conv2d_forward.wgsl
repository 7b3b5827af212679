// b0 images, b1 filters. Loops are cut into boxes: w[9] and w[10].
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let i = decode(e, more.z * more.w, image.z, image.w);
    let first = (i.y / more.w) * sizes.y;
    let outer = params.w[9];
    let inner = params.w[10];
    var sum = before(e);
    for (var c = outer.x; c < outer.y; c++) {
        var part = 0.0;
        for (var kh = outer.z; kh < outer.w; kh++) {
            let y = i.z * own.x + kh * own.z;
            let in_rows = y >= more.x && y - more.x < image.x;
            for (var kw = inner.x; kw < inner.y; kw++) {
                let x = i.w * own.y + kw * own.w;
                var pixel = p(62u);
                if in_rows && x >= more.y && x - more.y < image.y {
                    pixel = b0[params.w[1].x + at(params.w[5], vec4<u32>(i.x, first + c, y - more.x, x - more.y))];
                }
                let by = at(params.w[6], vec4<u32>(i.y, c, kh, kw));
                part += bitcast<f32>(pixel) * bitcast<f32>(b1[params.w[1].y + by]);
            }
        }
        sum += part;
    }
    return bitcast<u32>(sum);
}
