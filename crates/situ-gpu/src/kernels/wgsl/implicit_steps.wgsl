    // Counters go on by one, and what they add goes with them: divisions at every step would be dear.
    var counted = counters(place.first, params.w[2].z, params.w[2].w);
    var step = step_of(place.first);
    let carry = params.w[8] - params.w[9] * params.w[2].w;
    let carry_far = params.w[7] - params.w[8] * params.w[2].z;
    var next = step;
    for (var k = place.first; k < place.end; k++) {
        step = next;
        counted.z += 1u;
        next += params.w[9];
        if counted.z == params.w[2].w {
            counted.z = 0u;
            counted.y += 1u;
            next += carry;
            if counted.y == params.w[2].z {
                counted.y = 0u;
                next += carry_far;
            }
        }
