// How many of each digit there are in a chunk: counters of one digit lie chunk by chunk.
fn work(chunk: u32) {
    let sizes = params.w[0];
    for (var digit = 0u; digit <= params.w[2].y; digit++) { b1[params.w[1].w + digit * sizes.w + chunk] = 0u; }
    let end = min(sizes.x, (chunk + 1u) * sizes.z);
    for (var j = chunk * sizes.z; j < end; j++) { b1[counter(position(j), chunk)] += 1u; }
}
