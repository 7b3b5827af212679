//! How GPU kernels compare with each other on one driver: convolutions and their gradients with the matrix
//! product, and every op of a small CNN's step with its share by arithmetic and bytes. Only the ratios mean
//! anything on a software driver, and of those only ratios of what ran side by side: rounds of a case
//! alternate with rounds of the product, of a copy and of a launch.
//!
//! `gpu_ratios [ROUNDS [PART OF A NAME]]`: times are those of the quickest round.

use situ::ops::{Format, Update, UpdateKind};
use situ::random::Generator;
use situ::{DType, Error, Padding, Real, Result, Tape, Tensor, Variable, Windows, device, sync, zeros};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long one round of a case is, at least.
const ROUND: Duration = Duration::from_millis(60);

/// One op, and what it takes by its definition.
struct Case {
    name: String,
    flops: f64,
    bytes: f64,
    call: Box<dyn Fn() -> Result<Tensor>>,
}

impl Case {
    fn new(
        name: impl Into<String>,
        flops: f64,
        floats: usize,
        call: impl Fn() -> Result<Tensor> + 'static,
    ) -> Case {
        Case { name: name.into(), flops, bytes: 4.0 * floats as f64, call: Box::new(call) }
    }

    /// Seconds of one call in a round of so many.
    fn round(&self, calls: u32) -> Result<f64> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box((self.call)()?);
        }
        sync()?;
        Ok(start.elapsed().as_secs_f64() / f64::from(calls))
    }

    /// Calls that take about as long as that.
    fn calls_in(&self, time: Duration) -> Result<u32> {
        // Kernels are compiled by the first call.
        self.round(1)?;
        let one = self.round(1)?.max(1e-6);
        Ok((time.as_secs_f64() / one).ceil().clamp(1.0, 2000.0) as u32)
    }
}

/// What cases are held to: a product, which gives the rate of arithmetic, a copy, which gives the rate of
/// bytes, and a launch of next to nothing.
struct Rulers {
    cases: [Case; 3],
    calls: [u32; 3],
    rounds: usize,
}

/// A case beside the rulers, each in its quickest round.
struct Measured {
    seconds: f64,
    /// Its rate of arithmetic by that of the product.
    of_product: f64,
    /// The seconds that a launch, its arithmetic and its bytes would take.
    share: f64,
}

impl Rulers {
    fn new(rounds: usize) -> Result<Rulers> {
        let (many, four) = (normal(&[1 << 22])?, normal(&[4])?);
        let cases = [
            product(512, 512, 512)?,
            Case::new("copy", 0.0, 2 << 22, move || many.relu()),
            Case::new("launch", 0.0, 8, move || four.relu()),
        ];
        let mut calls = [1; 3];
        for (calls, case) in calls.iter_mut().zip(&cases) {
            *calls = case.calls_in(ROUND / 4)?;
        }
        Ok(Rulers { cases, calls, rounds })
    }

    fn measure(&self, case: &Case) -> Result<Measured> {
        let calls = case.calls_in(ROUND)?;
        let (mut seconds, mut rulers) = (f64::MAX, [f64::MAX; 3]);
        for _ in 0..self.rounds {
            seconds = seconds.min(case.round(calls)?);
            for (best, (ruler, calls)) in rulers.iter_mut().zip(self.cases.iter().zip(self.calls)) {
                *best = best.min(ruler.round(calls)?);
            }
        }
        let rate = self.cases[0].flops / rulers[0];
        let share = rulers[2] + case.flops / rate + case.bytes * rulers[1] / self.cases[1].bytes;
        Ok(Measured { seconds, of_product: case.flops / seconds / rate, share })
    }

    /// Prints a line for each case whose name has `part` in it.
    fn print(&self, cases: &[Case], part: &str) -> Result<()> {
        for case in cases.iter().filter(|case| case.name.contains(part)) {
            let Measured { seconds, of_product, share } = self.measure(case)?;
            println!(
                "{:54} {:9.0} {:9.2} {:9.2} {:9.2}",
                case.name,
                1e6 * seconds,
                case.flops / seconds / 1e9,
                of_product,
                seconds / share
            );
        }
        Ok(())
    }
}

fn normal(dims: &[usize]) -> Result<Tensor> {
    Generator::new(1).normal(dims, 0.0, 1.0, DType::F32)
}

fn product(m: usize, k: usize, n: usize) -> Result<Case> {
    let (a, b) = (normal(&[m, k])?, normal(&[k, n])?);
    let flops = 2.0 * (m * k * n) as f64;
    Ok(Case::new(format!("product {m}x{k}x{n}"), flops, m * k + k * n + m * n, move || a.matmul(&b)))
}

/// The gradient of `y` by `x` alone, where `y` was computed on `tape`.
fn gradient(tape: Tape, y: Tensor, x: Tensor) -> Result<impl Fn() -> Result<Tensor> + 'static> {
    let upstream = normal(y.shape().dims())?;
    Ok(move || {
        let gradient: Option<Tensor> = tape.gradients_from(&[(&y, &upstream)], [&x])?.pop().flatten();
        gradient.ok_or_else(|| Error::argument("bench", "no gradient", "watch what it is by"))
    })
}

/// Images, channels, side, filters, their side, stride, padding, groups and dilation.
struct Conv([usize; 9]);

impl Conv {
    /// The convolution, its gradient by the image, and by the filter.
    fn cases(&self, format: Format) -> Result<[Case; 3]> {
        let Conv([images, channels, side, filters, kernel, stride, padding, groups, dilation]) = *self;
        let taken = channels / groups;
        let (dims, filter) = match format {
            Format::ChannelsFirst => ([images, channels, side, side], [filters, taken, kernel, kernel]),
            Format::ChannelsLast => ([images, side, side, channels], [kernel, kernel, taken, filters]),
        };
        let (x, f) = (normal(&dims)?, normal(&filter)?);
        let windows = Windows {
            stride: [stride; 2],
            dilation: [dilation; 2],
            padding: Padding::Explicit([[padding; 2]; 2]),
            groups,
            format,
        };
        let places = (side + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
        let results = images * filters * places * places;
        let flops = 2.0 * (results * taken * kernel * kernel) as f64;
        let floats = results + dims.iter().product::<usize>() + filter.iter().product::<usize>();
        let mut shape = format!("{images}x{channels}x{side}x{filters}x{kernel}x{stride}");
        if groups > 1 || dilation > 1 {
            shape += &format!(" groups {groups} dilation {dilation}");
        }
        if format == Format::ChannelsLast {
            shape += " last";
        }
        let tape = Tape::persistent();
        let x1 = tape.watch(&x)?;
        let y = x1.conv2d(&f, &windows)?;
        let by_input = gradient(tape, y, x1)?;
        let tape = Tape::persistent();
        let f1 = tape.watch(&f)?;
        let y = x.conv2d(&f1, &windows)?;
        let by_filter = gradient(tape, y, f1)?;
        let names = ["conv2d", "by_input", "by_filter"].map(|op| format!("{op} {shape}"));
        let [a, b, c] = names;
        Ok([
            Case::new(a, flops, floats, move || x.conv2d(&f, &windows)),
            Case::new(b, flops, floats, by_input),
            Case::new(c, flops, floats, by_filter),
        ])
    }
}

/// A function of one tensor, and its gradient.
fn both(
    name: &str,
    x: &Tensor,
    floats: [usize; 2],
    f: impl Fn(&Tensor) -> Result<Tensor> + 'static,
) -> Result<[Case; 2]> {
    let tape = Tape::persistent();
    let watched = tape.watch(x)?;
    let y = f(&watched)?;
    let back = gradient(tape, y, watched)?;
    let x = x.clone();
    Ok([
        Case::new(name, 0.0, floats[0], move || f(&x)),
        Case::new(format!("{name}, gradient"), 0.0, floats[1], back),
    ])
}

/// Every op of a step of 3×3 ×32, relu, max 2×2, 3×3 ×64, relu, max 2×2, dense 128, relu, dense 10 on 64
/// images of 28×28.
fn cnn() -> Result<Vec<Case>> {
    let batch = 64;
    let mut cases = Vec::new();
    let second = Windows { stride: [2; 2], ..Windows::default() };
    for (channels, side, filters) in [(1, 28, 32), (32, 13, 64)] {
        cases.extend(Conv([batch, channels, side, filters, 3, 1, 0, 1, 1]).cases(Format::ChannelsFirst)?);
        if channels == 1 {
            // Nobody asks for the gradient by the images themselves.
            cases.remove(1);
        }
        let places = side - 2;
        let shape = [batch, filters, places, places];
        let all: usize = shape.iter().product();
        let pooled = batch * filters * (places / 2) * (places / 2);
        let (x, bias) = (normal(&shape)?, normal(&[filters, 1, 1])?);
        let y = x.clone();
        cases.push(Case::new(format!("bias {shape:?}"), 0.0, 2 * all, move || y.add(&bias)));
        let y = x.clone();
        cases.push(Case::new(format!("bias {shape:?}, gradient"), 0.0, all, move || y.sum(&[0, 2, 3])));
        cases.extend(both(&format!("relu {shape:?}"), &x, [2 * all, 3 * all], Tensor::relu)?);
        let pool = move |x: &Tensor| x.max_pool2d([2; 2], &second);
        cases.extend(both(&format!("max pool {shape:?}"), &x, [all + pooled, 2 * all + pooled], pool)?);
    }
    for (inner, out) in [(1600, 128), (128, 10)] {
        cases.push(product(batch, inner, out)?);
        cases.push(product(batch, out, inner)?);
        cases.push(product(inner, batch, out)?);
    }
    let labels = situ::tensor((0..batch as i32).map(|i| i * 7 % 10).collect::<Vec<_>>())?;
    let loss = move |x: &Tensor| x.sparse_softmax_cross_entropy(&labels);
    cases.extend(both("cross-entropy [64, 10]", &normal(&[batch, 10])?, [batch * 12, batch * 22], loss)?);
    for dims in [vec![1600, 128], vec![64, 32, 3, 3]] {
        let count: usize = dims.iter().product();
        let zero = || Variable::new(&zeros(&dims, DType::F32)?);
        let (weight, mean, square) = (Variable::new(&normal(&dims)?)?, zero()?, zero()?);
        let (by, rates) = (normal(&dims)?, situ::tensor([1e-3f32, 1.0])?);
        let kind = UpdateKind::Adam { beta1: Real(0.9), beta2: Real(0.999), epsilon: Real(1e-8) };
        let adam = Update { kind, decay: Real(0.0), decoupled: false };
        cases.push(Case::new(format!("Adam {dims:?}"), 0.0, 7 * count, move || {
            weight.step(adam, &by, &rates, &[&mean, &square])?;
            Ok(rates.clone())
        }));
    }
    Ok(cases)
}

/// What other models have besides, of sizes as they have them.
fn others() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    // A bias where channels are last, and broadcasts of all kinds.
    for (dims, other) in [
        (vec![64, 26, 26, 32], vec![32]),
        (vec![64, 11, 11, 3], vec![3]),
        (vec![1024, 1000], vec![1024, 1]),
        (vec![1024, 999], vec![999]),
        (vec![64, 1, 128, 33], vec![1, 16, 1, 33]),
    ] {
        let (x, y) = (normal(&dims)?, normal(&other)?);
        let all = x.add(&y)?.shape().elements();
        let floats = all + dims.iter().product::<usize>() + other.iter().product::<usize>();
        cases.push(Case::new(format!("add {dims:?} {other:?}"), 0.0, floats, move || x.add(&y)));
    }
    for (dims, axes) in [
        (vec![64, 26, 26, 32], vec![0, 1, 2]),
        (vec![1 << 20], vec![0]),
        (vec![4096, 256], vec![1]),
        (vec![4096, 256], vec![0]),
        (vec![64, 128, 128], vec![1]),
        (vec![16, 64, 16, 64], vec![1, 3]),
    ] {
        let x = normal(&dims)?;
        let all = x.shape().elements();
        let axes: Vec<isize> = axes;
        let (y, by) = (x.clone(), axes.clone());
        cases.push(Case::new(format!("sum {dims:?} by {axes:?}"), 0.0, all, move || y.sum(&by)));
        if axes.len() == 1 {
            cases.push(Case::new(format!("argmax {dims:?} by {axes:?}"), 0.0, all, move || x.argmax(&axes)));
        }
    }
    let x = normal(&[1024, 1000])?;
    let all = x.shape().elements();
    cases.extend(both("softmax [1024, 1000]", &x, [2 * all, 3 * all], |x| x.softmax(-1))?);
    let (scale, shift) = (normal(&[1000])?, normal(&[1000])?);
    let norm = move |x: &Tensor| x.layer_norm(&scale, &shift, 1e-5);
    cases.extend(both("layer norm [1024, 1000]", &x, [2 * all, 3 * all], norm)?);
    let (rows, wide) = (situ::tensor((0..4096).map(|i| i * 37 % 999).collect::<Vec<i32>>())?, 64);
    let (table, updates) = (zeros(&[1000, wide], DType::F32)?, normal(&[4096, wide])?);
    let floats = 2 * 1000 * wide + 4096 * (wide + 1);
    cases.push(Case::new("scatter_add [1000, 64] of 4096", 0.0, floats, move || {
        table.scatter_add(&rows, &updates, 0)
    }));
    Ok(cases)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(5);
    let part = arguments.next().unwrap_or_default();
    let _gpu = device("/GPU:0")?;
    let rulers = Rulers::new(rounds)?;
    println!("{:54} {:>9} {:>9} {:>9} {:>9}", "", "µs", "GFLOP/s", "/product", "/share");
    for [m, k, n] in [[512, 512, 512], [4096, 576, 64], [1024, 1024, 1024]] {
        rulers.print(&[product(m, k, n)?], &part)?;
    }
    for conv in [
        Conv([8, 64, 28, 64, 3, 1, 1, 1, 1]),
        Conv([8, 64, 28, 64, 3, 2, 1, 1, 1]),
        Conv([8, 128, 28, 64, 1, 1, 0, 1, 1]),
        Conv([8, 64, 28, 128, 1, 2, 0, 1, 1]),
        Conv([2, 3, 112, 64, 7, 2, 3, 1, 1]),
        Conv([8, 64, 28, 64, 3, 1, 2, 1, 2]),
        Conv([8, 64, 28, 64, 3, 1, 1, 8, 1]),
        // One filter for a channel shares nothing with others: these are held to their share.
        Conv([8, 128, 28, 128, 3, 1, 1, 128, 1]),
        Conv([8, 128, 28, 128, 3, 2, 1, 128, 1]),
        Conv([8, 64, 28, 128, 5, 1, 2, 64, 1]),
    ] {
        for format in [Format::ChannelsFirst, Format::ChannelsLast] {
            rulers.print(&conv.cases(format)?, &part)?;
        }
    }
    println!("\nOps of a CNN's step");
    rulers.print(&cnn()?, &part)?;
    println!("\nOther ops");
    rulers.print(&others()?, &part)
}
