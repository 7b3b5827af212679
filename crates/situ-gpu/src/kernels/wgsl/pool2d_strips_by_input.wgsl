// b0 images, b1 the gradient by the result, b2 the output. No two windows overlap: each has the pixels from
// its first one on until the next window's to itself, and gives each of them its share, or zero.
fn make(unit: u32) {
    if unit >= params.w[0].x { return; }
    let strip = strip_of(unit);
    let image = params.w[1].x + strip.image;
    let output = params.w[1].w + strip.image;
    for (var j = 0u; j < STRIP; j++) {
        let column = strip.first + j * params.w[0].y;
        if column >= params.w[0].w { break; }
        let top = strip.line * SH - PH;
        let left = column * SW - PW;
        let is_window = strip.line < params.w[4].z && column < params.w[4].w;
        var part = 0.0;
        var place = vec2<u32>(SH, SW);
        if is_window {
            part += bitcast<f32>(b1[params.w[1].y + strip.gradient + strip.line * params.w[7].z + column * params.w[7].w]);
            var best = 0.0;
            var count = 0u;
            for (var kh = 0u; kh < KH; kh++) {
                for (var kw = 0u; kw < KW; kw++) {
                    let at = vec2<u32>(kh * DH, kw * DW);
                    if is_pixel(top + at.x, left + at.y) {
                        if !MEAN {
                            let value = bitcast<f32>(b0[image + (top + at.x) * params.w[5].z + (left + at.y) * params.w[5].w]);
                            // The first of equals; NaN is larger than any number.
                            if count == 0u || value > best || (is_nan(value) && !is_nan(best)) {
                                best = value;
                                place = at;
                            }
                        }
                        count += 1u;
                    }
                }
            }
            if MEAN { part /= f32(count); }
        }
        for (var dy = 0u; dy < SH; dy++) {
            for (var dx = 0u; dx < SW; dx++) {
                if top + dy < params.w[4].x && left + dx < params.w[4].y {
                    var mine = dy == place.x && dx == place.y;
                    if MEAN {
                        mine = is_window && dy % DH == 0u && dy / DH < KH && dx % DW == 0u && dx / DW < KW;
                    }
                    b2[output + (top + dy) * params.w[5].z + (left + dx) * params.w[5].w] = bitcast<u32>(select(0.0, part, mine));
                }
            }
        }
    }
}
