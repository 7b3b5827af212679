@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lane: u32) {
    let unit = wid.y * nwg.x + wid.x;
    let own = params.w[2];
    let row = unit / own.y;
    if row >= params.w[0].x { return; }
    let first = (unit - row * own.y) * own.z;
    let end = min(params.w[0].w, first + own.z);
    let acc = reduce_part(kept(row), first, end, lane);
    if lane == 0u { b1[params.w[1].w + unit] = finish(acc); }
}
