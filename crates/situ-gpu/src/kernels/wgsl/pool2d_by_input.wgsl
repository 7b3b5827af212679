// b0 images, b1 the gradient by the result. Each pixel looks back at the windows that it was in.
struct Found { at: vec2<u32>, count: u32 }
// The place of the largest in the window at (oh, ow), the first of equals; and how many pixels the window has.
fn window(n: u32, c: u32, oh: u32, ow: u32) -> Found {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    var found = Found(vec2<u32>(0u), 0u);
    var best = 0.0;
    for (var kh = 0u; kh < sizes.z; kh++) {
        let y = oh * own.x + kh * own.z;
        if y < more.x || y - more.x >= image.x { continue; }
        for (var kw = 0u; kw < sizes.w; kw++) {
            let x = ow * own.y + kw * own.w;
            if x < more.y || x - more.y >= image.y { continue; }
            let place = vec2<u32>(y - more.x, x - more.y);
            let value = bitcast<f32>(b0[params.w[1].x + at(params.w[5], vec4<u32>(n, c, place))]);
            if found.count == 0u || value > best || (is_nan(value) && !is_nan(best)) {
                best = value;
                found.at = place;
            }
            found.count += 1u;
        }
    }
    return found;
}
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let i = decode(e, more.z, image.x, image.y);
    var sum = 0.0;
    // From the last element of the window to the first, so that windows come in their order.
    for (var k = sizes.z; k > 0u; k--) {
        let y = i.z + more.x;
        let back = (k - 1u) * own.z;
        if y < back || (y - back) % own.x != 0u || (y - back) / own.x >= image.z { continue; }
        let oh = (y - back) / own.x;
        for (var l = sizes.w; l > 0u; l--) {
            let x = i.w + more.y;
            let left = (l - 1u) * own.w;
            if x < left || (x - left) % own.y != 0u || (x - left) / own.y >= image.w { continue; }
            let ow = (x - left) / own.y;
            let found = window(i.x, i.y, oh, ow);
            let part = bitcast<f32>(b1[params.w[1].y + at(params.w[7], vec4<u32>(i.x, i.y, oh, ow))]);
            if more.w != 0u {
                sum += part / f32(found.count);
            } else if all(found.at == i.zw) {
                sum += part;
            }
        }
    }
    return bitcast<u32>(sum);
}
