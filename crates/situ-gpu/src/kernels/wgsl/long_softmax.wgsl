// own: stride of the axis, elements after the axis, whether the logarithm is wanted. b2 the output.
fn work(unit: u32) {
    let cut = cut_of(unit);
    let own = params.w[2];
    let begin = origin(cut.row);
    let pair = whole(cut.row);
    let broken = !is_finite(pair.x);
    let log_s = log_of(pair.y);
    let scale = 1.0 / pair.y;
    let outer = cut.row / own.y;
    let to = params.w[1].w + outer * params.w[0].w * own.y + (cut.row - outer * own.y);
    for (var i = cut.first; i < cut.end; i++) {
        let x = value(begin, i) - pair.x;
        var y = 0.0;
        if own.z != 0u { y = x - log_s; } else { y = exp_nonpositive(x) * scale; }
        b2[to + i * own.y] = bitcast<u32>(select(y, nan(), broken));
    }
}
