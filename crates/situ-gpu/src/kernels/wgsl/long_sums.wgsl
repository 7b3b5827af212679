fn merge(parts: Part) -> vec2<f32> {
    var s = 0.0;
    for (var i = parts.first; i < parts.end; i++) { s += part(parts.row, i).x; }
    return vec2<f32>(s, 0.0);
}
