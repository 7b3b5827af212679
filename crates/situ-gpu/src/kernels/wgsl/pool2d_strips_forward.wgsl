// b0 images, b1 the output.
fn make(unit: u32) {
    if unit >= params.w[0].x { return; }
    let strip = strip_of(unit);
    let image = params.w[1].x + strip.image;
    for (var j = 0u; j < STRIP; j++) {
        let column = strip.first + j * params.w[0].y;
        if column >= params.w[0].w { break; }
        var acc = select(-inf(), 0.0, MEAN);
        var count = 0u;
        for (var kh = 0u; kh < KH; kh++) {
            let y = strip.line * SH + kh * DH - PH;
            var sum = 0.0;
            for (var kw = 0u; kw < KW; kw++) {
                let x = column * SW + kw * DW - PW;
                if is_pixel(y, x) {
                    let value = bitcast<f32>(b0[image + y * params.w[5].z + x * params.w[5].w]);
                    if MEAN { sum += value; } else { acc = max_nan(acc, value); }
                    count += 1u;
                }
            }
            if MEAN { acc += sum; }
        }
        if MEAN { acc /= f32(count); } else if PADDED && count == 0u { acc = 0.0; }
        b1[params.w[1].w + strip.gradient + strip.line * params.w[7].z + column * params.w[7].w] = bitcast<u32>(acc);
    }
}
