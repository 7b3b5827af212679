// Products of few columns: an invocation makes a block of DOWN by ACROSS places of the window, from a patch
// of the image that it loads once. Constants come before: those, whether channels are last, whether no window
// leaves its image, whether sums are added to what is there. sizes: units, blocks of a line, lines of blocks,
// groups. own: places down and across, lines and columns of the image. w[3]: where lines and columns begin,
// channels that are summed, parts. w[4]: from line to line, pixel to pixel, channel to channel and image to
// image. w[5]: from tap to tap down and across, channel to channel, column to column in the other side.
// w[6]: from group to group in the images, the other side and the result, and from column to column in the
// result. w[7]: from image to image, line to line and place to place in the result. Beyond an image are
// zeros, which are multiplied as any pixel is; word 62 is a zero that no compiler knows to be one.
struct Block { image: u32, y: u32, x: u32 }
// Block number n of an image's blocks, of all images.
fn block_of(n: u32) -> Block {
    let sizes = params.w[0];
    let above = n / sizes.y;
    let image = above / sizes.z;
    return Block(image, (above - image * sizes.z) * DOWN, (n - above * sizes.y) * ACROSS);
}
fn is_place(block: Block, down: u32, across: u32) -> bool {
    return block.y + down < params.w[2].x && block.x + across < params.w[2].y;
}
fn pixel(at: u32, within: bool) -> f32 {
    let word = b0[at];
    if INSIDE { return bitcast<f32>(word); }
    return bitcast<f32>(select(p(62u), word, within));
}
