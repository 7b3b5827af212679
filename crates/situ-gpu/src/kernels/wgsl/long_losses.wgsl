// own: strides of the classes in the logits and in the labels. b2 the labels. A label of 0 contributes
// nothing, even beside a logit of -inf.
fn work(unit: u32) {
    let cut = cut_of(unit);
    let own = params.w[2];
    let begin = origin(cut.row);
    let labels = kept(cut.row).y;
    let pair = whole(cut.row);
    let log_s = log_of(pair.y);
    var loss = 0.0;
    for (var i = cut.first; i < cut.end;) {
        var run = 0.0;
        let stop = min(cut.end, i + 64u);
        for (; i < stop; i++) {
            let weight = bitcast<f32>(b2[labels + i * own.y]);
            if weight != 0.0 || is_nan(weight) { run += weight * (log_s - (value(begin, i) - pair.x)); }
        }
        loss += run;
    }
    keep(unit, vec2<f32>(loss, 0.0));
}
