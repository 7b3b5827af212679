// Tiles of 64 rows by 16, and of 16 by 64 columns; rows of each are along the side that a 4 x 4 block reads.
var<workgroup> sa: array<T, 1024>;
var<workgroup> sb: array<T, 1024>;
fn tile(group: u32, lane: u32) {
    let place = place_of(group);
    let y = (lane >> 4u) * 4u;
    let x = (lane & 15u) * 4u;
    let inner = params.w[0].z;
    var r0 = V(T(0));
    var r1 = V(T(0));
    var r2 = V(T(0));
    var r3 = V(T(0));
    for (var k0 = 0u; k0 < inner; k0 += 16u) {
        for (var j = 0u; j < 4u; j++) {
            // Neighbouring invocations read along whichever axis lies densely.
            if params.w[2].y == 1u {
                let k = lane & 15u;
                let row = (lane >> 4u) + j * 16u;
                sa[k * 64u + row] = load_a(place, place.row + row, k0 + k);
            } else {
                let row = lane & 63u;
                let k = (lane >> 6u) + j * 4u;
                sa[k * 64u + row] = load_a(place, place.row + row, k0 + k);
            }
            if params.w[2].w == 1u {
                let column = lane & 63u;
                let k = (lane >> 6u) + j * 4u;
                sb[k * 64u + column] = load_b(place, k0 + k, place.column + column);
            } else {
                let k = lane & 15u;
                let column = (lane >> 4u) + j * 16u;
                sb[k * 64u + column] = load_b(place, k0 + k, place.column + column);
            }
        }
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            let at = k * 64u;
            let b = V(sb[at + x], sb[at + x + 1u], sb[at + x + 2u], sb[at + x + 3u]);
            r0 += sa[at + y] * b;
            r1 += sa[at + y + 1u] * b;
            r2 += sa[at + y + 2u] * b;
            r3 += sa[at + y + 3u] * b;
        }
        workgroupBarrier();
    }
    for (var j = 0u; j < 4u; j++) {
        store(place, place.row + y, place.column + x + j, r0[j]);
        store(place, place.row + y + 1u, place.column + x + j, r1[j]);
        store(place, place.row + y + 2u, place.column + x + j, r2[j]);
        store(place, place.row + y + 3u, place.column + x + j, r3[j]);
    }
}
