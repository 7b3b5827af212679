@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>,
    @builtin(local_invocation_index) lane: u32) {
    let first = (wid.y * nwg.x + wid.x) * 4u;
    if first >= params.w[0].x { return; }
    var word = 0u;
    for (var k = 0u; k < 4u; k++) {
        let row = min(first + k, params.w[0].x - 1u);
        word |= finish(reduce_part(kept(row), 0u, params.w[0].w, lane)) << (k * 8u);
    }
    if lane == 0u { b1[(params.w[1].w + first) >> 2u] = word; }
}
