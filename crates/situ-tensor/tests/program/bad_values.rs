//! Values that an op can't use: labels and indices out of range, integers divided by zero.

use situ_core::error::Fault;
use situ_core::{DType, Error, Result};
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, device, tensor, with_runtime, zeros};
use situ_testkit::machines;
use situ_testkit::simulated::SimulatedGpu;

type Call = fn() -> Result<Tensor>;

/// A call, its op, the row and the fault it must report.
const TABLE: &[(Call, &str, usize, Fault)] = &[
    (
        || zeros(&[3, 4], DType::F32)?.sparse_softmax_cross_entropy(&tensor([0i32, 4, 9])?),
        "sparse_softmax_cross_entropy",
        1,
        Fault::OutOfRange { what: "label", value: 4, limit: 4 },
    ),
    (
        || zeros(&[2, 3, 4], DType::F32)?.sparse_softmax_cross_entropy(&tensor([[0i32, 0, 1], [2, 3, -1]])?),
        "sparse_softmax_cross_entropy",
        5,
        Fault::OutOfRange { what: "label", value: -1, limit: 4 },
    ),
    (
        || tensor([1.0f32, 2.0, 3.0])?.gather(&tensor([2i32, 1, 3])?, 0),
        "gather",
        2,
        Fault::OutOfRange { what: "index", value: 3, limit: 3 },
    ),
    (
        || zeros(&[4, 5], DType::I32)?.gather(&tensor([[0i32, 1], [-1, 2]])?, 1),
        "gather",
        2,
        Fault::OutOfRange { what: "index", value: -1, limit: 5 },
    ),
    (
        || tensor([1.0f32, 2.0])?.gather(&tensor([i32::MAX])?, 0),
        "gather",
        0,
        Fault::OutOfRange { what: "index", value: i32::MAX as i64, limit: 2 },
    ),
    (
        || tensor([1.0f32, 2.0])?.gather(&tensor([i32::MIN])?, 0),
        "gather",
        0,
        Fault::OutOfRange { what: "index", value: i32::MIN as i64, limit: 2 },
    ),
    (
        || zeros(&[0, 2], DType::F32)?.gather(&tensor([0i32])?, 0),
        "gather",
        0,
        Fault::OutOfRange { what: "index", value: 0, limit: 0 },
    ),
    (
        || tensor([1.0f32, 2.0])?.scatter_add(&tensor([0i32, 2])?, &tensor([1.0f32, 1.0])?, 0),
        "scatter_add",
        1,
        Fault::OutOfRange { what: "index", value: 2, limit: 2 },
    ),
    (|| tensor([1i32, 2, 3])?.div(&tensor([1i32, 1, 0])?), "div", 2, Fault::DivisionByZero),
    (|| tensor([1i32, 2, 3])?.rem(&tensor(0i32)?), "rem", 0, Fault::DivisionByZero),
    (
        // Beyond one task and one workgroup: the first of several is named, whichever thread finds its own
        // first.
        || {
            let mut divisors = vec![1i32; 300_000];
            (divisors[70_001], divisors[200_000], divisors[299_999]) = (0, 0, 0);
            zeros(&[300_000], DType::I32)?.div(&tensor(divisors)?)
        },
        "div",
        70_001,
        Fault::DivisionByZero,
    ),
    (
        || {
            let mut indices = vec![0i32; 20_000];
            (indices[7_000], indices[15_000]) = (5, -3);
            zeros(&[5, 16], DType::F32)?.gather(&tensor(indices)?, 0)
        },
        "gather",
        7_000,
        Fault::OutOfRange { what: "index", value: 5, limit: 5 },
    ),
];

fn check(runtime: &Runtime, scope: &str) {
    with_runtime(runtime, || {
        let _scope = device(scope).expect("a valid name");
        for (call, op, row, fault) in TABLE {
            let error = call().and_then(|t| t.to_bytes()).map(|_| ()).expect_err(op);
            let Error::Data(data) = &error else { panic!("{scope}: {error}") };
            assert_eq!((data.op, data.row, data.fault), (*op, *row, *fault), "{scope}: {error}");
            assert!(error.to_string().contains("bad_values.rs:"), "{scope}: {error}");
        }
    });
}

#[test]
fn bad_values_are_named_on_the_cpu() {
    check(&machines::cpu(), "/CPU:0");
}

#[test]
fn bad_values_are_named_on_a_simulated_gpu() {
    check(&machines::cpu_and(&[&SimulatedGpu::new()]), "/GPU:0");
}

#[test]
fn bad_values_are_named_on_the_real_gpu() {
    if let Some(runtime) = machines::shared_cpu_and_gpu() {
        check(runtime, "/GPU:0");
    }
}

#[test]
fn a_check_that_no_rule_foresaw_is_an_error_of_the_function_and_is_not_dropped() {
    let gpu = SimulatedGpu::new().with_needless_checks(&["matmul"]);
    let runtime = machines::cpu_and(&[&gpu]);
    let failed = with_runtime(&runtime, || -> Result<Tensor> {
        let _gpu = device("/GPU:0")?;
        let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
        // Eagerly the tensor carries it.
        assert_eq!(x.matmul(&x)?.to_vec::<f32>()?, [7.0, 10.0, 15.0, 22.0]);
        Function::new(|x: &Tensor| x.matmul(x)?.exp()).call(&x)
    });
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("matmul") && error.contains("check"), "{error}");
}
