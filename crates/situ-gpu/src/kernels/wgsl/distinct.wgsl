// b0 the indices, b1 the workspace, with the positions in the order of what stands there, b2 where each index
// stood first, b3 the indices that have not stood before. sizes: indices, rows. offsets: indices, sorted
// positions, the two outputs. The sort is stable: the first of a run is the first of the list.
fn key(j: u32) -> u32 { return min(index_at(params.w[1].x + b1[params.w[1].y + j]), params.w[0].y); }
fn work(j: u32) {
    let mine = key(j);
    var low = 0u;
    var high = j;
    while low < high {
        let middle = (low + high) / 2u;
        if key(middle) < mine { low = middle + 1u; } else { high = middle; }
    }
    let at = b1[params.w[1].y + j];
    let first = b1[params.w[1].y + low];
    b2[params.w[1].z + at] = first;
    put_own(params.w[1].w + at, params.w[1].x + at, first == at);
}
