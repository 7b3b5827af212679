//! Any number of results, arguments and variables.

use crate::{everywhere, is_up};
use situ_core::Result;
use situ_tensor::{Function, Tape, Tensor, Variable, cond, tensor, while_loop};

const COUNTS: [usize; 5] = [1, 7, 9, 12, 300];

/// n results, of which number k is (k + 1)·x or −(k + 1)·x.
fn multiples(x: &Tensor, n: usize) -> Result<Vec<Tensor>> {
    let side = |sign: f64| (0..n).map(|k| x * (sign * (k + 1) as f64)).collect::<Result<Vec<_>>>();
    cond(&is_up(x)?, || side(1.0), || side(-1.0))
}

#[test]
fn a_condition_gives_any_number_of_results() -> Result<()> {
    everywhere(|| {
        for n in COUNTS {
            let f = Function::many(move |x| multiples(&x[0], n));
            for (x, sign) in [(2.0f32, 1.0f32), (-2.0, -1.0)] {
                let got = f.call_many(&[&tensor(x)?])?;
                let got = got.iter().map(Tensor::item::<f32>).collect::<Result<Vec<_>>>()?;
                let expected: Vec<f32> = (0..n).map(|k| x * sign * (k + 1) as f32).collect();
                assert_eq!(got, expected, "{n} results");
            }
        }
        Ok(())
    })
}

#[test]
fn gradients_come_back_from_any_number_of_results() -> Result<()> {
    everywhere(|| {
        for n in COUNTS {
            let slope = move |x: &Tensor| -> Result<Tensor> {
                let tape = Tape::new();
                let x = tape.watch(x)?;
                let mut sum = x.mul(&tensor(0.0f32)?)?;
                for y in multiples(&x, n)? {
                    sum = sum.add(&y)?;
                }
                Ok(tape.gradient(&sum, &x)?.expect("it depends on x"))
            };
            let expected = (n * (n + 1) / 2) as f32;
            assert_eq!(slope(&tensor(2.0f32)?)?.item::<f32>()?, expected, "{n} results, eagerly");
            let f = Function::new(slope);
            assert_eq!(f.call(&tensor(2.0f32)?)?.item::<f32>()?, expected, "{n} results");
            assert_eq!(f.call(&tensor(-2.0f32)?)?.item::<f32>()?, -expected, "{n} results");
        }
        Ok(())
    })
}

#[test]
fn a_gradient_by_one_of_many_results_is_that_one_alone() -> Result<()> {
    let f = Function::new(|x| {
        let tape = Tape::new();
        let x = tape.watch(x)?;
        let results = multiples(&x, 300)?;
        let by_x = tape.gradient(&results[280], &x)?;
        Ok(by_x.expect("it depends on x"))
    });
    assert_eq!(f.call(&tensor(2.0f32)?)?.item::<f32>()?, 281.0);
    Ok(())
}

#[test]
fn gradients_go_to_hundreds_of_tensors_that_a_condition_borrows() -> Result<()> {
    everywhere(|| {
        let f = Function::many(|inputs| {
            let tape = Tape::new();
            let watched = inputs.iter().map(|x| tape.watch(x)).collect::<Result<Vec<_>>>()?;
            let weighted = |sign: f64| {
                let mut sum = watched[0].mul(&watched[0])?;
                for (k, x) in watched.iter().enumerate().skip(1) {
                    sum = sum.add(&(x * (sign * k as f64))?)?;
                }
                Ok(vec![sum])
            };
            let y = cond(&is_up(&inputs[0])?, || weighted(1.0), || weighted(-1.0))?;
            let found = tape.gradients(&y[0], &watched)?;
            Ok(found.into_iter().map(|g| g.expect("each is used")).collect())
        });
        let inputs = (0..300).map(|_| tensor(3.0f32)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let got = f.call_many(&inputs)?;
        let got = got.iter().map(Tensor::item::<f32>).collect::<Result<Vec<_>>>()?;
        let expected: Vec<f32> = (0..300).map(|k| if k == 0 { 6.0 } else { k as f32 }).collect();
        assert_eq!(got, expected);
        Ok(())
    })
}

#[test]
fn a_loop_may_have_hundreds_of_parts_in_its_state() -> Result<()> {
    everywhere(|| {
        let f = Function::many(|x| {
            while_loop(
                x,
                |s| s[299].less(&tensor(305.0f32)?),
                |s| s.iter().map(|part| part + 1.0).collect::<Result<Vec<_>>>(),
            )
        });
        let inputs = (0..300).map(|k| tensor(k as f32)).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let got = f.call_many(&inputs)?;
        let got = got.iter().map(Tensor::item::<f32>).collect::<Result<Vec<_>>>()?;
        assert_eq!(got, (0..300).map(|k| (k + 6) as f32).collect::<Vec<_>>());
        Ok(())
    })
}

#[test]
fn a_function_may_have_hundreds_of_variables_that_a_condition_steps_or_leaves() -> Result<()> {
    let variables = (0..300).map(|k| Variable::new(&tensor(k as f32)?)).collect::<Result<Vec<Variable>>>()?;
    let held = variables.clone();
    // A step is skipped where the input is not finite: the sides give every variable's next value.
    let f = Function::new(move |x| {
        let stepped = || held.iter().map(|v| v.value().add(x)).collect::<Result<Vec<_>>>();
        let kept = || Ok(held.iter().map(Variable::value).collect());
        let next = cond(&x.equal(x)?, stepped, kept)?;
        for (variable, next) in held.iter().zip(&next) {
            variable.assign(next)?;
        }
        Ok(x.clone())
    });
    let values = || variables.iter().map(|v| v.value().item::<f32>()).collect::<Result<Vec<_>>>();
    f.call(&tensor(1.0f32)?)?;
    assert_eq!(values()?, (0..300).map(|k| (k + 1) as f32).collect::<Vec<_>>());
    f.call(&tensor(f32::NAN)?)?;
    assert_eq!(values()?, (0..300).map(|k| (k + 1) as f32).collect::<Vec<_>>());
    Ok(())
}
