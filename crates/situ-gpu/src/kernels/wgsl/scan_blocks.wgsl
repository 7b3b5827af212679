// Each block's sum becomes the sum of those before it: one invocation for all.
fn work(one: u32) {
    var before = 0u;
    for (var block = 0u; block < params.w[0].z; block++) {
        let at = params.w[1].y + block;
        let sum = b0[at];
        b0[at] = before;
        before += sum;
    }
}
