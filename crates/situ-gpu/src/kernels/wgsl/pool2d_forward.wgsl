// b0 images. more.w: whether the mean is wanted.
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let i = decode(e, more.z, image.z, image.w);
    var best = 0.0;
    var sum = 0.0;
    var count = 0u;
    for (var kh = 0u; kh < sizes.z; kh++) {
        let y = i.z * own.x + kh * own.z;
        if y < more.x || y - more.x >= image.x { continue; }
        for (var kw = 0u; kw < sizes.w; kw++) {
            let x = i.w * own.y + kw * own.w;
            if x < more.y || x - more.y >= image.y { continue; }
            let source = at(params.w[5], vec4<u32>(i.x, i.y, y - more.x, x - more.y));
            let value = bitcast<f32>(b0[params.w[1].x + source]);
            if count == 0u { best = value; } else { best = max_nan(best, value); }
            sum += value;
            count += 1u;
        }
    }
    if more.w != 0u { return bitcast<u32>(sum / f32(count)); }
    return bitcast<u32>(best);
}
