//! Convolutions and their gradients, each gradient by itself. Names are those of `bench/cases.py`: images,
//! channels, side, filters, their side, stride, and where they are not 1 groups and dilation; half a filter
//! of padding around. `@last` has channels last.

use crate::cases::{Call, dims};
use situ::ops::Format;
use situ::random::Generator;
use situ::{DType, Error, Padding, Result, Tape, Tensor, Windows};

/// Every shape there is.
const SHAPES: &[&str] = &[
    "1x64x56x64x3x1",
    "32x64x56x64x3x1",
    "32x3x224x64x7x2",
    "64x16x32x32x3x2",
    "64x32x16x64x3x2",
    "64x16x32x16x3x1",
    "64x64x8x64x3x1",
    "8x256x56x64x1x1",
    "8x256x56x64x1x2",
    "8x128x56x128x3x1x128",
    "8x128x56x128x3x2x128",
    "8x64x56x64x3x1x8",
    "8x64x28x64x3x1x1x2",
];
const OPS: &[&str] = &["conv2d", "conv2d_by_input", "conv2d_by_filter"];

/// The names of all cases.
pub(crate) fn names() -> impl Iterator<Item = String> {
    let ways = |name: String| [name.clone(), format!("{name}@last")];
    OPS.iter().flat_map(move |op| SHAPES.iter().flat_map(move |shape| ways(format!("{op}_{shape}"))))
}

/// A case of this file, if it is one.
pub(crate) fn prepare(name: &str) -> Result<Option<Call>> {
    let (case, last) = name.strip_suffix("@last").map_or((name, false), |case| (case, true));
    let Some((op, size)) = case.rsplit_once('_').filter(|(op, _)| OPS.contains(op)) else { return Ok(None) };
    let sizes = dims(size)?;
    let [images, channels, side, filters, kernel, stride, ref more @ ..] = sizes[..] else {
        return Err(Error::argument("bench", format!("no convolution in '{name}'"), "see the list"));
    };
    let [groups, dilation] = [0, 1].map(|n| more.get(n).copied().unwrap_or(1));
    let generator = Generator::new(1);
    let normal = |dims: &[usize]| generator.normal(dims, 0.0, 1.0, DType::F32);
    let taken = channels / groups;
    let (format, x, filter) = if last {
        (Format::ChannelsLast, [images, side, side, channels], [kernel, kernel, taken, filters])
    } else {
        (Format::ChannelsFirst, [images, channels, side, side], [filters, taken, kernel, kernel])
    };
    let (x, filter) = (normal(&x)?, normal(&filter)?);
    let padding = Padding::Explicit([[dilation * (kernel / 2); 2]; 2]);
    let windows = Windows { stride: [stride; 2], dilation: [dilation; 2], padding, groups, format };
    if op == "conv2d" {
        return Ok(Some(Box::new(move || x.conv2d(&filter, &windows))));
    }
    let tape = Tape::persistent();
    let by = if op == "conv2d_by_input" { tape.watch(&x)? } else { tape.watch(&filter)? };
    let y = if op == "conv2d_by_input" { by.conv2d(&filter, &windows)? } else { x.conv2d(&by, &windows)? };
    let upstream = normal(y.shape().dims())?;
    Ok(Some(Box::new(move || {
        let gradient: Option<Tensor> = tape.gradients_from(&[(&y, &upstream)], [&by])?.pop().flatten();
        gradient.ok_or_else(|| Error::argument("bench", "no gradient", "watch what it is by"))
    })))
}
