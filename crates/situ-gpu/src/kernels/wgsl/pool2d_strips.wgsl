// Small windows: an invocation makes STRIP results of a line, so that it divides once for all of them.
// Constants come before: that, the window's height and width (KH, KW), strides, dilations, what is added
// before lines and columns, whether the mean is wanted, whether anything is added, and whether channels are
// last.
// sizes: units, strips of a line, lines of a plane that units are counted by, columns. more.z: channels. The
// others are those of conv2d.wgsl.
struct Strip { plane: u32, line: u32, first: u32, gradient: u32, image: u32 }
// Neighbours in a strip are as far apart as a line has strips, so that neighbouring invocations are at
// neighbouring columns.
fn strip_of(unit: u32) -> Strip {
    let sizes = params.w[0];
    var rest = unit;
    var channel = 0u;
    if LAST {
        rest = unit / params.w[3].z;
        channel = unit - rest * params.w[3].z;
    }
    let above = rest / sizes.y;
    let plane = above / sizes.z;
    var strides = vec2<u32>(params.w[5].y, params.w[7].y);
    if LAST { strides = vec2<u32>(params.w[5].x, params.w[7].x); }
    return Strip(plane, above - plane * sizes.z, rest - above * sizes.y, plane * strides.y + channel, plane * strides.x + channel);
}
// Whether an element of a window is a pixel. Unsigned: what is before the image is beyond it.
fn is_pixel(y: u32, x: u32) -> bool { return !PADDED || (y < params.w[4].x && x < params.w[4].y); }
