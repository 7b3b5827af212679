// b0 images, b1 the gradient by the result. w[8].y: images of the batch.
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    var o: u32;
    var c: u32;
    var kh: u32;
    var kw: u32;
    if params.w[8].x != 0u {
        let all = more.z * more.w;
        let a = e / all;
        let b = a / sizes.y;
        o = e % all;
        c = a % sizes.y;
        kh = b / sizes.w;
        kw = b % sizes.w;
    } else {
        let a = e / sizes.w;
        let b = a / sizes.z;
        kw = e % sizes.w;
        kh = a % sizes.z;
        c = b % sizes.y;
        o = b / sizes.y;
    }
    let channel = (o / more.w) * sizes.y + c;
    var sum = 0.0;
    for (var n = 0u; n < params.w[8].y; n++) {
        var part = 0.0;
        for (var oh = 0u; oh < image.z; oh++) {
            let y = oh * own.x + kh * own.z;
            let in_rows = y >= more.x && y - more.x < image.x;
            var line = 0.0;
            for (var ow = 0u; ow < image.w; ow++) {
                let x = ow * own.y + kw * own.w;
                var pixel = p(62u);
                if in_rows && x >= more.y && x - more.y < image.y {
                    pixel = b0[params.w[1].x + at(params.w[5], vec4<u32>(n, channel, y - more.x, x - more.y))];
                }
                let by = at(params.w[7], vec4<u32>(n, o, oh, ow));
                line += bitcast<f32>(pixel) * bitcast<f32>(b1[params.w[1].y + by]);
            }
            part += line;
        }
        sum += part;
    }
    return bitcast<u32>(sum);
}
