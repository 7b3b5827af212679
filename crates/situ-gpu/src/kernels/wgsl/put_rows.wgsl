    // b0 the indices, b1 the rows, b2 the table. sizes: units (words or elements) of the rows, units of a
    // row, rows of the table. offsets: those of the three.
    let sizes = params.w[0];
    let at = params.w[1];
    for (var k = 0u; k < 4u; k++) {
        let e = group * 1024u + k * 256u + lane;
        if e >= sizes.x { return; }
        let i = e / sizes.y;
        // What is no row is beyond the end, as unsigned numbers see it.
        let row = index_at(at.x + i);
        if row < sizes.z { put(at.z + row * sizes.y + (e - i * sizes.y), at.y + e); }
    }
}
