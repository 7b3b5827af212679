// Sums over runs of equal keys. b0 the indices, b1 the workspace, b2 the updates, b3 the output, which holds
// the base. sizes: units (chunks, before the axis, after it), elements after the axis, those before, keys.
// offsets: indices, sorted positions, updates, output. own: positions, positions of a chunk, where the sums
// of runs that began before their chunk lie; those of runs that go on behind it lie behind.
struct Unit { first: u32, end: u32, outer: u32, column: u32 }
fn unit_of(unit: u32) -> Unit {
    let sizes = params.w[0];
    let own = params.w[2];
    let above = unit / sizes.y;
    let chunk = above / sizes.z;
    return Unit(chunk * own.y, min(own.x, (chunk + 1u) * own.y), above - chunk * sizes.z, unit - above * sizes.y);
}
fn position(j: u32) -> u32 { return b1[params.w[1].y + j]; }
fn key(j: u32) -> u32 { return min(index_at(params.w[1].x + position(j)), params.w[0].w); }
fn add(u: Unit, row: u32, sum: T) {
    let sizes = params.w[0];
    if row >= sizes.w { return; }
    let at = params.w[1].w + (u.outer * sizes.w + row) * sizes.y + u.column;
    set_output(at, output(at) + sum);
}
