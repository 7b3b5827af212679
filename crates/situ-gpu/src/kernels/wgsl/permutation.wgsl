// A keyed Feistel network over the numbers below 2^(2 own.x), walked from each position until it comes to a
// number below the count.
fn place_of(e: u32) -> u32 {
    let half = params.w[2].x;
    var keys = array<vec4<u32>, 2>(philox(0u), philox(1u));
    var number = e;
    // The network is a permutation, so a walk comes back to where it began before it could go on for ever.
    for (var step = 0u; step < 0xffffffffu; step++) {
        var left = number >> half;
        var right = number & ((1u << half) - 1u);
        for (var round = 0u; round < 8u; round++) {
            var t = (right ^ keys[round >> 2u][round & 3u]) * 0xd2511f53u;
            t = (t ^ (t >> 15u)) * 0xcd9e8d57u;
            let next = left ^ (t >> (32u - half));
            left = right;
            right = next;
        }
        number = (left << half) | right;
        if number < params.w[0].x { break; }
    }
    return number;
}
