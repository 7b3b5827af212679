// Where the largest of each window stands, the first of equals, as its row times the width plus its column.
// b0 images, b1 the places. Loops are cut into boxes: w[9] and w[10].
fn element(e: u32) -> u32 {
    let sizes = params.w[0];
    let own = params.w[2];
    let more = params.w[3];
    let image = params.w[4];
    let outer = params.w[9];
    let inner = params.w[10];
    let i = decode(e, more.z, image.z, image.w);
    let down = i.z * own.x;
    let across = i.w * own.y;
    let rows = within(down, own.z, sizes.z, more.x, image.x);
    let columns = within(across, own.w, sizes.w, more.y, image.y);
    var place = 0xffffffffu;
    var best = 0.0;
    if inner.z != 0u {
        place = b1[params.w[1].w + e];
        let y = place / image.y;
        if place != 0xffffffffu {
            best = bitcast<f32>(b0[params.w[1].x + at(params.w[5], vec4<u32>(i.x, i.y, y, place - y * image.y))]);
        }
    }
    for (var kh = max(rows.x, outer.z); kh < min(rows.y, outer.w); kh++) {
        let y = down + kh * own.z - more.x;
        for (var kw = max(columns.x, inner.x); kw < min(columns.y, inner.y); kw++) {
            let x = across + kw * own.w - more.y;
            let value = bitcast<f32>(b0[params.w[1].x + at(params.w[5], vec4<u32>(i.x, i.y, y, x))]);
            if place == 0xffffffffu || value > best || (is_nan(value) && !is_nan(best)) {
                best = value;
                place = y * image.y + x;
            }
        }
    }
    return place;
}
