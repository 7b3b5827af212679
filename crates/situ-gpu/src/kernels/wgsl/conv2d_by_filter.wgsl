// b0 images, b1 the gradient by the result. Lines of all images are shared by parts: w[9]: filter elements,
// lines of a part, and the lines of this dispatch. w[10]: its columns, and whether others came before.
fn element(unit: u32) -> u32 {
    let share = params.w[9];
    let columns = params.w[10];
    let number = unit / share.x;
    let e = unit - number * share.x;
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
    var sum = before(unit);
    let first = share.z + number * share.y;
    let last = min(share.w, first + share.y);
    for (var l = first; l < last; l++) {
        let n = l / image.z;
        let oh = l - n * image.z;
        let y = oh * own.x + kh * own.z;
        let in_rows = y >= more.x && y - more.x < image.x;
        var line = 0.0;
        for (var ow = columns.x; ow < columns.y; ow++) {
            let x = ow * own.y + kw * own.w;
            var pixel = p(62u);
            if in_rows && x >= more.y && x - more.y < image.y {
                pixel = b0[params.w[1].x + at(params.w[5], vec4<u32>(n, channel, y - more.x, x - more.y))];
            }
            let by = at(params.w[7], vec4<u32>(n, o, oh, ow));
            line += bitcast<f32>(pixel) * bitcast<f32>(b1[params.w[1].y + by]);
        }
        sum += line;
    }
    return bitcast<u32>(sum);
}
