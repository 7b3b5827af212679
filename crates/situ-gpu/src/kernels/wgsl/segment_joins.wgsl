// Runs over several chunks are added up from their parts, in order, by the chunk in which they begin.
fn work(unit: u32) {
    let u = unit_of(unit);
    let own = params.w[2];
    let sizes = params.w[0];
    let row = key(u.end - 1u);
    if u.end >= own.x || row >= sizes.w { return; }
    if key(u.end) != row { return; }
    if u.first > 0u {
        if key(u.first - 1u) == row { return; }
    }
    var sum = part(own.z + sizes.x + unit);
    var next = unit;
    for (var first = u.end; first < own.x; first += own.y) {
        next += sizes.y * sizes.z;
        sum += part(own.z + next);
        let end = min(own.x, first + own.y);
        if end >= own.x { break; }
        if key(end) != row { break; }
    }
    add(u, row, sum);
}
