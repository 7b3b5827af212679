// Notes the value of the index that a kernel just before found out of range: its low word, and its high one.
// Where p(5) is not zero, indices have both.
@compute @workgroup_size(1)
fn main() {
    let slot = p(63u) * 4u;
    if b1[slot] != 0u {
        let at = p(4u) + ~b1[slot];
        if p(5u) != 0u {
            b1[slot + 1u] = b0[2u * at];
            b1[slot + 2u] = b0[2u * at + 1u];
        } else {
            b1[slot + 1u] = b0[at];
            b1[slot + 2u] = bitcast<u32>(bitcast<i32>(b0[at]) >> 31u);
        }
    }
}
