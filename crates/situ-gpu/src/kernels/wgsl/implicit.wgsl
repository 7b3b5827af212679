// A product of what is gathered from images (b0, rows by steps) with another side (b1, steps by columns); b2
// is the result. sizes: rows, columns, parts, elements of a part. own: sizes of the second and the third
// counter of a row and of a step. w[3]: lines and columns of the images, and where counters begin. w[4] to
// w[6]: what each counter of a row adds to the place in memory, the line, the column and the place of the
// result. w[7] to w[9]: the same of a step, but for the other side instead of the result. w[10]: from group
// to group in b0, b1 and b2, and groups. w[11]: from column to column in b1 and b2. w[12]: the first step,
// the end, and steps of a part. ADDS: whether to add to what is there. INSIDE: whether no window leaves its
// image. Beyond an image are zeros, and they are multiplied as any pixel is: beside an infinite filter that
// makes NaN, as it does where a matrix product does the work. Word 62 is a zero that no compiler knows to be
// one.
struct Place { gathered: u32, other: u32, result: u32, row: u32, column: u32, first: u32, end: u32 }
fn place_of(group: u32) -> Place {
    let sizes = params.w[0];
    let across = (sizes.y + ACROSS - 1u) / ACROSS;
    let down = (sizes.x + DOWN - 1u) / DOWN;
    let above = group / across;
    let batch = above / down;
    let part = batch / params.w[10].w;
    let begin = params.w[10].xyz * (batch - part * params.w[10].w) + params.w[1].xyw;
    // A workgroup beyond the last part is put beyond the last row, and has no steps.
    let beyond = part >= sizes.z;
    let row = select((above - batch * down) * DOWN, sizes.x, beyond);
    let steps = params.w[12];
    let first = min(steps.x + part * steps.z, steps.y);
    let end = select(min(first + steps.z, steps.y), first, beyond);
    return Place(begin.x, begin.y, begin.z + part * sizes.w, row, (group - above * across) * ACROSS, first, end);
}
// The counters of a number, of which the last two have these sizes.
fn counters(n: u32, second: u32, third: u32) -> vec3<u32> {
    let a = n / third;
    let b = a / second;
    return vec3<u32>(b, a - b * second, n - a * third);
}
fn row_of(place: Place, row: u32) -> vec4<u32> {
    let c = counters(row, params.w[2].x, params.w[2].y);
    let start = vec4<u32>(place.gathered, params.w[3].z, params.w[3].w, place.result);
    return start + c.x * params.w[4] + c.y * params.w[5] + c.z * params.w[6];
}
fn step_of(step: u32) -> vec4<u32> {
    let c = counters(step, params.w[2].z, params.w[2].w);
    return c.x * params.w[7] + c.y * params.w[8] + c.z * params.w[9];
}
fn gather(at: vec4<u32>) -> f32 {
    // Beyond the image this is some other word, which nobody uses.
    let pixel = b0[at.x];
    if INSIDE { return bitcast<f32>(pixel); }
    let within = at.y < params.w[3].x && at.z < params.w[3].y;
    return bitcast<f32>(select(p(62u), pixel, within));
}
fn store(result: u32, row: u32, column: u32, sum: f32) {
    if row >= params.w[0].x || column >= params.w[0].y { return; }
    let to = result + column * params.w[11].y;
    var all = sum;
    if ADDS { all += bitcast<f32>(b2[to]); }
    b2[to] = bitcast<u32>(all);
}
