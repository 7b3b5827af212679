fn reduced(r: u32) -> u32 {
    var rest = r;
    var at = 0u;
    for (var d = params.w[0].z; d > 0u; d--) {
        let axis = params.w[2u + d];
        let above = rest / axis.z;
        at += (rest - above * axis.z) * axis.w;
        rest = above;
    }
    return at;
}
