// b0 the indices, b1 where each stood first, b2 the indices that have not stood before. sizes: indices, rows.
// offsets: those of the three.
fn key(j: u32) -> u32 { return min(index_at(params.w[1].x + j), params.w[0].y); }
fn work(i: u32) {
    let mine = key(i);
    var first = i;
    for (var j = 0u; j < i; j++) {
        if key(j) == mine {
            first = j;
            break;
        }
    }
    b1[params.w[1].y + i] = first;
    put_own(params.w[1].z + i, params.w[1].x + i, first == i);
}
