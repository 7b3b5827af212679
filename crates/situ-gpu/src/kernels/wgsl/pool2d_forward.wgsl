// b0 images, b1 the output. more.w: whether the mean is wanted. Loops are cut into boxes: w[9] and w[10].
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let outer = params.w[9];
    let inner = params.w[10];
    let mean = more.w != 0u;
    let i = decode(e, more.z, image.z, image.w);
    let down = i.z * own.x;
    let across = i.w * own.y;
    let rows = within(down, own.z, sizes.z, more.x, image.x);
    let columns = within(across, own.w, sizes.w, more.y, image.y);
    var acc = select(-inf(), 0.0, mean);
    if inner.z != 0u { acc = bitcast<f32>(b1[params.w[1].w + e]); }
    for (var kh = max(rows.x, outer.z); kh < min(rows.y, outer.w); kh++) {
        let y = down + kh * own.z - more.x;
        var line = 0.0;
        for (var kw = max(columns.x, inner.x); kw < min(columns.y, inner.y); kw++) {
            let x = across + kw * own.w - more.y;
            let value = bitcast<f32>(b0[params.w[1].x + at(params.w[5], vec4<u32>(i.x, i.y, y, x))]);
            if mean { line += value; } else { acc = max_nan(acc, value); }
        }
        if mean { acc += line; }
    }
    if inner.w != 0u {
        let count = (rows.y - rows.x) * (columns.y - columns.x);
        if mean { acc /= f32(count); } else if count == 0u { acc = 0.0; }
    }
    return bitcast<u32>(acc);
}
