// Each pixel adds up what the windows give it that it was in, in their order. b0 the gradient by the result,
// b1 the places of the largest, b2 the output. Loops are cut into boxes, counted from the first window that
// reaches so far: w[9] and w[10].
fn windows(begin: u32, step: u32, stride: u32, taps: u32, places: u32) -> vec2<u32> {
    let reach = (taps - 1u) * step;
    var lo = 0u;
    if begin > reach { lo = (begin - reach + stride - 1u) / stride; }
    return vec2<u32>(lo, min(places, begin / stride + 1u));
}
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let outer = params.w[9];
    let inner = params.w[10];
    let i = decode(e, more.z, image.x, image.y);
    let y = i.z + more.x;
    let x = i.w + more.y;
    let mine = i.z * image.y + i.w;
    let rows = windows(y, own.z, own.x, sizes.z, image.z);
    let columns = windows(x, own.w, own.y, sizes.w, image.w);
    var sum = 0.0;
    if inner.z != 0u { sum = bitcast<f32>(b2[params.w[1].w + e]); }
    for (var oh = rows.x + outer.z; oh < min(rows.y, rows.x + outer.w); oh++) {
        if (y - oh * own.x) % own.z != 0u { continue; }
        let high = within(oh * own.x, own.z, sizes.z, more.x, image.x);
        for (var ow = columns.x + inner.x; ow < min(columns.y, columns.x + inner.y); ow++) {
            if (x - ow * own.y) % own.w != 0u { continue; }
            let begin = at(params.w[7], vec4<u32>(i.x, i.y, oh, ow));
            let part = bitcast<f32>(b0[params.w[1].x + begin]);
            if more.w != 0u {
                let wide = within(ow * own.y, own.w, sizes.w, more.y, image.y);
                sum += part / f32((high.y - high.x) * (wide.y - wide.x));
            } else if b1[params.w[1].y + begin] == mine {
                sum += part;
            }
        }
    }
    return bitcast<u32>(sum);
}
