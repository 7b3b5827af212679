// Counters have become the places of the first of each digit in each chunk.
fn work(chunk: u32) {
    let sizes = params.w[0];
    let end = min(sizes.x, (chunk + 1u) * sizes.z);
    for (var j = chunk * sizes.z; j < end; j++) {
        let at = position(j);
        let which = counter(at, chunk);
        let to = b1[which];
        b1[which] = to + 1u;
        b1[params.w[1].z + to] = at;
    }
}
