var<workgroup> sa: array<T, 256>;
var<workgroup> sb: array<T, 256>;
fn tile(group: u32, lane: u32) {
    let place = place_of(group);
    let y = lane >> 4u;
    let x = lane & 15u;
    let inner = params.w[0].z;
    var sum = T(0);
    for (var k0 = 0u; k0 < inner; k0 += 16u) {
        // Neighbouring invocations read along whichever axis lies densely.
        if params.w[2].y == 1u { sa[y * 16u + x] = load_a(place, place.row + y, k0 + x); }
        else { sa[x * 16u + y] = load_a(place, place.row + x, k0 + y); }
        if params.w[2].w == 1u { sb[y * 16u + x] = load_b(place, k0 + y, place.column + x); }
        else { sb[x * 16u + y] = load_b(place, k0 + x, place.column + y); }
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) { sum += sa[y * 16u + k] * sb[k * 16u + x]; }
        workgroupBarrier();
    }
    store(place, place.row + y, place.column + x, sum);
}
