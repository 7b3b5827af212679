// The sum of all parts of an element. b0 the parts. sizes: elements, parts. Runs of 64 are added first.
fn element(e: u32) -> u32 {
    var sum = 0.0;
    for (var i = 0u; i < params.w[0].y;) {
        var run = 0.0;
        let end = min(params.w[0].y, i + 64u);
        for (; i < end; i++) { run += bitcast<f32>(b0[params.w[1].x + i * params.w[0].x + e]); }
        sum += run;
    }
    return bitcast<u32>(sum);
}
