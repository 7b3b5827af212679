//! How GPU kernels compare with each other on one driver: convolutions and their gradients with the matrix
//! product, and every op of a small CNN's step with its share by arithmetic and bytes. Only the ratios mean
//! anything on a software driver.
//!
//! `gpu_ratios [ROUNDS]`: rates are those of the quickest round.

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

    /// Seconds of one call, of the quickest round.
    fn seconds(&self, rounds: usize) -> Result<f64> {
        let round = |calls: u32| -> Result<Duration> {
            let start = Instant::now();
            for _ in 0..calls {
                black_box((self.call)()?);
            }
            sync()?;
            Ok(start.elapsed())
        };
        // Kernels are compiled by the first call.
        round(1)?;
        let one = round(1)?.max(Duration::from_micros(1));
        let calls = (ROUND.as_secs_f64() / one.as_secs_f64()).ceil().clamp(1.0, 2000.0) as u32;
        let mut best = one.as_secs_f64();
        for _ in 0..rounds {
            best = best.min(round(calls)?.as_secs_f64() / f64::from(calls));
        }
        Ok(best)
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

fn main() -> Result<()> {
    let rounds = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(5);
    let _gpu = device("/GPU:0")?;
    let mut rate = f64::MAX;
    println!("{:52} {:>10} {:>9} {:>7}", "", "µs", "GFLOP/s", "ratio");
    for [m, k, n] in [[512, 512, 512], [4096, 576, 64], [1024, 1024, 1024]] {
        let case = product(m, k, n)?;
        let seconds = case.seconds(rounds)?;
        // The rate that convolutions are held to is that of the first: as large as theirs, and square.
        if rate == f64::MAX {
            rate = case.flops / seconds;
        }
        println!("{:52} {:10.0} {:9.2}", case.name, 1e6 * seconds, case.flops / seconds / 1e9);
    }
    for conv in [
        Conv([8, 64, 28, 64, 3, 1, 1, 1, 1]),
        Conv([8, 64, 28, 64, 3, 2, 1, 1, 1]),
        Conv([8, 128, 28, 64, 1, 1, 0, 1, 1]),
        Conv([2, 3, 112, 64, 7, 2, 3, 1, 1]),
        Conv([8, 64, 28, 64, 3, 1, 2, 1, 2]),
        Conv([8, 64, 28, 64, 3, 1, 1, 8, 1]),
        Conv([8, 128, 28, 128, 3, 1, 1, 128, 1]),
    ] {
        for format in [Format::ChannelsFirst, Format::ChannelsLast] {
            for case in conv.cases(format)? {
                let seconds = case.seconds(rounds)?;
                let own = case.flops / seconds;
                println!("{:52} {:10.0} {:9.2} {:7.2}", case.name, 1e6 * seconds, own / 1e9, own / rate);
            }
        }
    }
    let many = normal(&[1 << 22])?;
    let copy = Case::new("", 0.0, 2 << 22, move || many.relu());
    let bandwidth = copy.bytes / copy.seconds(rounds)?;
    let four = normal(&[4])?;
    let floor = Case::new("", 0.0, 8, move || four.relu()).seconds(rounds)?;
    println!(
        "\nOps of a CNN's step; a share is {:.0} µs for a launch, arithmetic at {:.1} GFLOP/s, bytes at {:.1} GB/s",
        1e6 * floor,
        rate / 1e9,
        bandwidth / 1e9
    );
    println!("{:52} {:>10} {:>9} {:>7}", "", "µs", "share", "ratio");
    for case in cnn()? {
        let seconds = case.seconds(rounds)?;
        let share = floor + case.flops / rate + case.bytes / bandwidth;
        println!("{:52} {:10.0} {:9.0} {:7.2}", case.name, 1e6 * seconds, 1e6 * share, seconds / share);
    }
    Ok(())
}
