    for (var k = 0u; k < 4u; k++) {
        let e = group * 1024u + k * 256u + lane;
        if e < params.w[0].x { add_chain(e); }
    }
}
