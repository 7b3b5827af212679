// Notes the value of the index that a kernel just before found out of range.
@compute @workgroup_size(1)
fn main() {
    let slot = p(63u) * 4u;
    if b1[slot] != 0u {
        b1[slot + 1u] = b0[p(4u) + ~b1[slot]];
    }
}
