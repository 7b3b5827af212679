// The mean, and the sum of squared distances from it. The mean is found twice: the second time from
// distances, which are small where the numbers are large and alike.
fn summary(begin: u32, first: u32, end: u32) -> vec2<f32> {
    let count = f32(end - first);
    var s = 0.0;
    for (var i = first; i < end;) {
        var run = 0.0;
        let stop = min(end, i + 64u);
        for (; i < stop; i++) { run += value(begin, i); }
        s += run;
    }
    let near = s / count;
    var distance = vec2<f32>(0.0);
    for (var i = first; i < end;) {
        var run = vec2<f32>(0.0);
        let stop = min(end, i + 64u);
        for (; i < stop; i++) {
            let d = value(begin, i) - near;
            run += vec2<f32>(d, d * d);
        }
        distance += run;
    }
    let off = distance.x / count;
    return vec2<f32>(select(near, near + off, is_finite(near)), max_nan(distance.y - off * distance.x, 0.0));
}
fn elements_of(i: u32) -> f32 {
    let span = params.w[12].w;
    return f32(min(params.w[0].w, (i + 1u) * span) - i * span);
}
fn merge(parts: Part) -> vec2<f32> {
    let near = part(parts.row, parts.first).x;
    var count = 0.0;
    var off = 0.0;
    for (var i = parts.first; i < parts.end; i++) {
        count += elements_of(i);
        off += elements_of(i) * (part(parts.row, i).x - near);
    }
    let mean = select(near, near + off / count, is_finite(near));
    var squares = 0.0;
    for (var i = parts.first; i < parts.end; i++) {
        let one = part(parts.row, i);
        squares += one.y + elements_of(i) * (one.x - mean) * (one.x - mean);
    }
    return vec2<f32>(mean, squares);
}
