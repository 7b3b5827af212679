// The elements of a window of `taps` that lie within `size`, where `before` are added in front; the window
// starts at `start`.
fn within(start: u32, step: u32, taps: u32, before: u32, size: u32) -> vec2<u32> {
    var lo = 0u;
    if before > start { lo = (before - start + step - 1u) / step; }
    var hi = 0u;
    if size + before > start { hi = min(taps, (size + before - start + step - 1u) / step); }
    return vec2<u32>(min(lo, hi), hi);
}
