// Products of few columns: an invocation makes a block of DOWN by ACROSS results, from a patch of the image
// that it loads once. Constants come before: those, whether channels are last, whether no patch leaves its
// image. sizes: units, blocks of a line, lines of blocks, groups. own: lines and columns of results, lines
// and columns of the image. w[3]: where lines and columns begin, channels that are summed, parts. w[4]: from
// line to line, pixel to pixel, channel to channel and image to image. w[5]: from tap to tap down and across,
// channel to channel, column to column in the other side. w[6]: from group to group in the images, the other
// side and the result, and from column to column in the result. w[7]: from image to image, line to line and
// place to place in the result, and elements of a part. w[8]: blocks of all images, channels of a group.
// Beyond an image are zeros, which are multiplied as any pixel is; word 62 is a zero that no compiler knows
// to be one.
struct Block { image: u32, line: u32, strip: u32 }
// Block number n of an image's blocks, of all images.
fn block_of(n: u32) -> Block {
    let sizes = params.w[0];
    let above = n / sizes.y;
    let image = above / sizes.z;
    return Block(image, above - image * sizes.z, n - above * sizes.y);
}
fn is_place(block: Block, down: u32, across: u32) -> bool {
    return block.line * DOWN + down < params.w[2].x && block.strip * ACROSS + across < params.w[2].y;
}
fn pixel(at: u32, within: bool) -> f32 {
    let word = b0[at];
    if INSIDE { return bitcast<f32>(word); }
    return bitcast<f32>(select(p(62u), word, within));
}
