var<workgroup> gathered: array<f32, DEPTH * DOWN>;
var<workgroup> others: array<f32, DEPTH * ACROSS>;
// What rows and steps add: divisions are made once for each, and not for each element.
var<workgroup> rows: array<vec4<u32>, DOWN>;
var<workgroup> steps: array<vec4<u32>, DEPTH>;
// Rows beyond the end are read as the last one, and not stored.
fn know_rows(place: Place, lane: u32) {
    for (var i = lane; i < DOWN; i += TEAM) { rows[i] = row_of(place, min(place.row + i, params.w[0].x - 1u)); }
}
fn know_steps(place: Place, first: u32, lane: u32) {
    if lane < DEPTH { steps[lane] = step_of(first + lane); }
}
// Both sides are zero beyond the last step.
fn load(place: Place, first: u32, lane: u32) {
    for (var i = lane; i < DEPTH * DOWN; i += TEAM) {
        let at = gathered_place(i);
        var x = 0.0;
        if first + at.x < place.end { x = gather(rows[at.y] + steps[at.x]); }
        gathered[at.x * DOWN + at.y] = x;
    }
    for (var i = lane; i < DEPTH * ACROSS; i += TEAM) {
        let at = other_place(i);
        var x = 0.0;
        if first + at.x < place.end {
            let column = min(place.column + at.y, params.w[0].y - 1u);
            x = bitcast<f32>(b1[place.other + column * params.w[11].x + steps[at.x].w]);
        }
        others[at.x * ACROSS + at.y] = x;
    }
}
