//! The op in situ's own suite: against a naive reference, on every device, its gradient against differences;
//! and that it is an op like any other.

use custom_op::{PairwiseDistance, pairwise_distance, register};
use situ::custom::Custom;
use situ::{DType, Error, Function, Policy, Real, Result, Tape, Tensor};
use situ_testkit::array::Array;
use situ_testkit::input::{Form, Input};
use situ_testkit::machines::{self, CPU, GPU};
use situ_testkit::numbers::Noise;
use situ_testkit::suite::{Case, Expected, Tolerance, gradients, run};

fn cases(dtype: DType) -> Vec<Case> {
    let mut noise = Noise::named(dtype.name());
    let mut list = Vec::new();
    let mut push = |label: &str, scale: f64, x: Input, y: Input| {
        let op = Custom::new(PairwiseDistance { scale: Real(scale) });
        let tolerance = Tolerance::units(dtype, 64.0, 2.0);
        list.push(Case::new(label, op, vec![x, y], tolerance, move |i| distances(&i[0], &i[1], scale)));
    };
    for [n, m, d] in
        [[1, 1, 1], [0, 3, 2], [3, 0, 2], [3, 2, 0], [7, 5, 3], [33, 65, 17], [3, 4, 7_999], [300, 301, 2]]
    {
        push("", 1.0, noise.array(dtype, &[n, d]).into(), noise.array(dtype, &[m, d]).into());
    }
    push("scaled", -0.5, noise.array(dtype, &[4, 3]).into(), noise.array(dtype, &[5, 3]).into());
    for form in Form::VIEWS {
        let made = |a| Input::formed(a, form);
        push(form.name(), 1.0, made(noise.array(dtype, &[6, 9])), made(noise.array(dtype, &[5, 9])));
    }
    list
}

fn distances(x: &Array, y: &Array, scale: f64) -> Expected {
    let (n, d, m) = (x.dims[0], x.dims[1], y.dims[0]);
    let (a, b) = (x.reals(), y.reals());
    let mut values = Vec::new();
    for i in 0..n {
        for j in 0..m {
            let sum: f64 = (0..d).map(|k| (a[i * d + k] - b[j * d + k]).powi(2)).sum();
            values.push(scale * sum);
        }
    }
    Array::unrounded(x.dtype, &[n, m], values).into()
}

#[test]
fn it_agrees_with_a_naive_reference_on_every_device() -> Result<()> {
    register()?;
    for dtype in [DType::F32, DType::F64] {
        let outcome = run(&machines::cpu(), CPU, &cases(dtype));
        assert!(outcome.failures.is_empty(), "{}", outcome.failures.join("\n"));
        assert!(outcome.absent.is_empty() && outcome.partial.is_empty());
    }
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    let outcome = run(runtime, GPU, &cases(DType::F32));
    assert!(outcome.failures.is_empty(), "{}", outcome.failures.join("\n"));
    assert!(outcome.absent.is_empty() && outcome.partial.is_empty());
    Ok(())
}

#[test]
fn its_gradient_is_that_of_differences_on_the_tape_and_in_functions() -> Result<()> {
    register()?;
    let problems = gradients::problems(&cases(DType::F64), DType::F64);
    assert!(problems.len() > 3);
    situ::with_runtime(&machines::cpu(), || {
        for problem in &problems {
            let tape = gradients::by_tape(problem)?;
            assert_eq!(gradients::disagreement(problem, &tape)?, None, "{}", problem.name);
            let function = gradients::by_function(problem)?;
            assert_eq!(gradients::difference(&tape, &function, 1e-12), None, "{}", problem.name);
        }
        Ok(())
    })
}

fn points() -> Result<[Tensor; 2]> {
    Ok([situ::tensor([[0.0f32, 0.0], [3.0, 4.0]])?, situ::tensor([[0.0f32, 0.0], [1.0, 1.0], [3.0, 0.0]])?])
}

#[test]
fn functions_trace_it_and_graphs_print_and_read_it() -> Result<()> {
    let f = Function::many(|inputs: &[Tensor]| {
        let near = pairwise_distance(&inputs[0], &inputs[1], 2.0)?;
        Ok(vec![near.neg()?.exp()?])
    });
    situ::with_runtime(&machines::cpu(), || {
        let [x, y] = points()?;
        let eager = pairwise_distance(&x, &y, 2.0)?;
        assert_eq!(eager.to_vec::<f32>()?, [0.0, 4.0, 18.0, 50.0, 26.0, 32.0]);
        let made = f.call_many(&[&x, &y])?;
        assert_eq!(made[0].to_vec::<f32>()?, eager.neg()?.exp()?.to_vec::<f32>()?);
        Ok::<(), Error>(())
    })?;
    let text = "\
function(%0: f32[2, 2], %1: f32[3, 2]) {
  %2 = pairwise_distance(%0, %1) {scale=2.0} : f32[2, 3]
  return %2
}
";
    let graph: situ::Graph = text.parse()?;
    assert_eq!(graph.to_string(), text);
    let op = situ::Op::from(Custom::new(PairwiseDistance { scale: Real(2.0) }));
    let written: Vec<_> =
        op.attributes().iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    assert_eq!(situ::Op::read("pairwise_distance", written)?, op);
    assert_ne!(op, situ::Op::from(Custom::new(PairwiseDistance { scale: Real(1.0) })));
    Ok(())
}

#[test]
fn it_is_placed_and_explained_like_any_op() -> Result<()> {
    register()?;
    let gpu = situ_testkit::simulated::SimulatedGpu::new().without_ops(&["pairwise_distance"]);
    situ::with_runtime(&machines::cpu_and(&[&gpu]), || {
        let _allowed = situ::fallback_policy(Policy::Allow);
        let _gpu = situ::device("/GPU:0")?;
        let [x, y] = points()?;
        let made = pairwise_distance(&x, &y, 1.0)?;
        assert_eq!(made.device().to_string(), "CPU:0");
        let reason = made.reason().to_string();
        assert!(reason.contains("pairwise_distance") && reason.contains("GPU:0"), "{reason}");
        // A tape goes back through it wherever it ran.
        let tape = Tape::new();
        let x = tape.watch(&x)?;
        let far = pairwise_distance(&x, &y, 1.0)?.sum(&[])?;
        let by = tape.gradient(&far, &x)?.map(|by| by.to_vec::<f32>()).transpose()?;
        assert_eq!(by.as_deref(), Some([-8.0f32, -2.0, 10.0, 22.0].as_slice()));
        Ok(())
    })
}

#[test]
fn more_coordinates_than_a_loop_of_a_gpu_counts_run_elsewhere_and_say_why() -> Result<()> {
    let Some(runtime) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    situ::with_runtime(runtime, || {
        let _allowed = situ::fallback_policy(Policy::Allow);
        let _gpu = situ::device("/GPU:0")?;
        let sizes = [(8_000, "GPU:0"), (8_001, "CPU:0"), (70_000, "CPU:0")];
        for (size, device) in sizes {
            let (x, y) = (situ::ones(&[2, size], DType::F32)?, situ::zeros(&[3, size], DType::F32)?);
            let made = pairwise_distance(&x, &y, 1.0)?;
            assert_eq!(made.device().to_string(), device, "{size}: {}", made.reason());
            assert_eq!(made.to_vec::<f32>()?, [size as f32; 6], "{size}");
            assert!(
                device == "GPU:0" || made.reason().to_string().contains("loop trips"),
                "{}",
                made.reason()
            );
        }
        Ok(())
    })
}

#[test]
fn wrong_points_are_errors_that_name_the_op() -> Result<()> {
    let x = situ::zeros(&[2, 3], DType::F32)?;
    let y = situ::zeros(&[2, 4], DType::F32)?;
    let error = pairwise_distance(&x, &y, 1.0).unwrap_err().to_string();
    assert!(error.contains("pairwise_distance") && error.contains("coordinates"), "{error}");
    Ok(())
}
