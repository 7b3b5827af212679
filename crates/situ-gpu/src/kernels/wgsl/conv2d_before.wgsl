// What boxes before this one have left.
fn before(e: u32) -> f32 {
    if params.w[10].z == 0u { return 0.0; }
    return bitcast<f32>(b2[params.w[1].w + e]);
}
