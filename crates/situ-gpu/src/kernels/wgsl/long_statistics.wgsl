// b1 the means, b2 the variances.
fn work(row: u32) {
    let pair = whole(row);
    b1[params.w[1].y + row] = bitcast<u32>(pair.x);
    b2[params.w[1].z + row] = bitcast<u32>(pair.y / f32(params.w[0].w));
}
