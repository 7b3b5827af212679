// The largest, and the sum of e^(x - largest): 0 where all are -inf. A largest that is NaN or inf spoils the
// row anyway.
fn summary(begin: u32, first: u32, end: u32) -> vec2<f32> {
    var m = value(begin, first);
    for (var i = first; i < end; i++) { m = max_nan(m, value(begin, i)); }
    var s = 0.0;
    for (var i = first; i < end;) {
        var run = 0.0;
        let stop = min(end, i + 64u);
        for (; i < stop; i++) { run += exp_nonpositive(value(begin, i) - m); }
        s += run;
    }
    return vec2<f32>(m, select(s, 0.0, bitcast<u32>(m) == 0xff800000u));
}
fn merge(parts: Part) -> vec2<f32> {
    var m = part(parts.row, parts.first).x;
    for (var i = parts.first; i < parts.end; i++) { m = max_nan(m, part(parts.row, i).x); }
    var s = 0.0;
    for (var i = parts.first; i < parts.end; i++) {
        let one = part(parts.row, i);
        s += one.y * exp_nonpositive(one.x - m);
    }
    return vec2<f32>(m, select(s, 0.0, bitcast<u32>(m) == 0xff800000u));
}
