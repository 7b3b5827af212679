fn softplus_of(x: f32) -> f32 {
    if is_nan(x) { return x; }
    return max(x, 0.0) + log1p_of(exp_of(-abs(x)));
}
