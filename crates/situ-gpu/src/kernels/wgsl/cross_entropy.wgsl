// own: strides of the classes in the logits and in the labels. A label of 0 contributes nothing, even beside
// a logit of -inf.
fn work(row: u32, lane: u32) {
    let base = kept(row);
    let own = params.w[2];
    let length = params.w[0].w;
    let shape = shift_and_log(base.x, own.x, length, lane);
    var loss = 0.0;
    for (var i = lane; i < length;) {
        var run = 0.0;
        let end = min(length, i + 64u * LANES);
        for (; i < end; i += LANES) {
            let weight = bitcast<f32>(b1[base.y + i * own.y]);
            if weight != 0.0 || is_nan(weight) {
                run += weight * (shape.y - (bitcast<f32>(b0[base.x + i * own.x]) - shape.x));
            }
        }
        loss += run;
    }
    loss = team_sum(lane, loss);
    if lane == 0u { b2[params.w[1].w + row] = bitcast<u32>(select(loss, nan(), is_nan(shape.y))); }
}
