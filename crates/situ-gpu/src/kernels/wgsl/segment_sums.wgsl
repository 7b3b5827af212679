// Runs that lie within a chunk are added to the output, and parts of others kept.
fn work(unit: u32) {
    let u = unit_of(unit);
    let own = params.w[2];
    var row = key(u.first);
    var began = true;
    if u.first > 0u { began = key(u.first - 1u) != row; }
    var sum = T(0);
    for (var j = u.first; j < u.end; j++) {
        let next = key(j);
        if next != row {
            if began { add(u, row, sum); } else { set_part(own.z + unit, sum); }
            began = true;
            row = next;
            sum = T(0);
        }
        let at = params.w[1].z + (u.outer * own.x + position(j)) * params.w[0].y + u.column;
        sum += update(at);
    }
    var goes_on = false;
    if u.end < own.x { goes_on = key(u.end) == row; }
    if began && !goes_on { add(u, row, sum); }
    if began && goes_on { set_part(own.z + params.w[0].x + unit, sum); }
    if !began { set_part(own.z + unit, sum); }
}
