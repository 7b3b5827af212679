// sizes: elements, channels taken by a filter, height and width of the filter. own: strides, dilations. w[3]:
// padding before, groups, filters of a group. w[4]: height and width of the images, places down and across.
// w[5], w[6], w[7]: strides of images (batch, channel, row, column), of filters (out, in, row, column) and of
// results. w[8].x: whether channels are last. Padding is zeros, and they are multiplied as any pixel is:
// beside an infinite filter that makes NaN, as it does where a matrix product does the work. Word 62 is a
// zero that no compiler knows to be one.
fn decode(e: u32, c: u32, h: u32, w: u32) -> vec4<u32> {
    if params.w[8].x != 0u {
        let a = e / c;
        let b = a / w;
        return vec4<u32>(b / h, e % c, b % h, a % w);
    }
    let a = e / w;
    let b = a / h;
    return vec4<u32>(b / c, b % c, a % h, e % w);
}
fn at(strides: vec4<u32>, i: vec4<u32>) -> u32 {
    let s = strides * i;
    return s.x + s.y + s.z + s.w;
}
