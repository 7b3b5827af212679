// own: strides of the row, of the scale and of the shift, and epsilon. b2 scale, b3 shift, b4 the output.
fn work(unit: u32) {
    let cut = cut_of(unit);
    let own = params.w[2];
    let length = params.w[0].w;
    let begin = origin(cut.row);
    let pair = whole(cut.row);
    let factor = 1.0 / sqrt(pair.y / f32(length) + bitcast<f32>(own.w));
    let to = params.w[1].w + cut.row * length;
    for (var i = cut.first; i < cut.end; i++) {
        let x = (value(begin, i) - pair.x) * factor;
        let scale = bitcast<f32>(b2[params.w[1].y + i * own.y]);
        let shift = bitcast<f32>(b3[params.w[1].z + i * own.z]);
        b4[to + i] = bitcast<u32>(x * scale + shift);
    }
}
