//! Expectations: what is met passes, what is not is listed.

use super::{machine, on, square, two_layers};
use situ_core::{Error, Policy, Result};
use situ_observe::expect;
use situ_tensor::{Function, fallback_policy, tensor, with_device};

fn violations<T: std::fmt::Debug>(result: Result<T>) -> Vec<String> {
    match result {
        Err(Error::Unmet(unmet)) => unmet.violations,
        other => panic!("expected to be unmet: {other:?}"),
    }
}

#[test]
fn what_is_as_expected_passes_and_gives_its_value() -> Result<()> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(32)?);
        let moved = 2 * 32 * 32 * 4;
        let met = expect(|e| {
            e.no_fallback().no_retrace().max_copies(2).max_bytes_moved(moved).max_memory("/GPU:0", 1 << 20)
        });
        let sum = met.clone().on("/GPU:0", "dense/*").on("/CPU:0", "head").during(|| f.call(&x))?;
        assert_eq!(sum.shape().rank(), 0);
        met.during(|| f.call(&x))?;
        Ok(())
    })
}

#[test]
fn every_violation_is_listed_with_its_line() -> Result<()> {
    on(&machine(), || {
        let (f, x) = (two_layers(), square(32)?);
        let unmet = expect(|e| {
            e.max_copies(1)
                .max_bytes_moved(100)
                .no_implicit_copy()
                .max_memory("/GPU:0", 10)
                .on("/CPU:0", "dense/*")
                .on("/GPU:0", "no/such/op")
        });
        let list = violations(unmet.during(|| f.call(&x)));
        assert_eq!(list.len(), 7, "{list:#?}");
        let has = |words: &[&str]| list.iter().any(|v| words.iter().all(|word| v.contains(word)));
        assert!(has(&["2 copies, at most 1"]), "{list:#?}");
        assert!(has(&["8.0 KiB were moved, at most 100 B"]), "{list:#?}");
        assert!(has(&["copied from CPU:0 to GPU:0 for dense/matmul", "main.rs:"]), "{list:#?}");
        assert!(has(&["GPU:0 held", "at most 10 B"]), "{list:#?}");
        assert!(has(&["dense/matmul ran on GPU:0, expected on /CPU:0: requested", "main.rs:"]), "{list:#?}");
        assert!(has(&["no op matches no/such/op", "dense/matmul"]), "{list:#?}");
        Ok(())
    })
}

#[test]
fn fallbacks_and_retraces_can_be_ruled_out() -> Result<()> {
    on(&machine(), || {
        let _quiet = fallback_policy(Policy::Allow);
        let f = Function::new(|x| with_device("/GPU:0", || x.exp()));
        let x = with_device("/CPU:0", || tensor([1.0f64]))?;
        let list = violations(expect(|e| e.no_fallback()).during(|| f.call(&x)));
        assert!(list[0].contains("exp fell back to CPU:0") && list[0].contains("no f64 kernel"), "{list:?}");
        let other = tensor([1.0f64, 2.0])?;
        let list = violations(expect(|e| e.no_retrace()).during(|| f.call(&other)));
        assert!(list[0].contains("compiled again: argument 0 is f64[2], before it was f64[1]"), "{list:?}");
        Ok(())
    })
}

#[test]
fn a_wrong_device_name_is_an_error_before_anything_runs_and_a_failed_body_is_its_own() -> Result<()> {
    on(&machine(), || {
        let mut ran = false;
        let error = expect(|e| e.on("/GPUU:0", "*")).during(|| {
            ran = true;
            Ok(())
        });
        assert!(error.unwrap_err().to_string().contains("GPU:0") && !ran);
        let x = tensor([1.0f32, 2.0])?;
        let y = tensor([1.0f32, 2.0, 3.0])?;
        let error = expect(|e| e.no_fallback()).during(|| x.add(&y)).unwrap_err();
        assert!(matches!(error, Error::Operands(_)), "{error}");
        Ok(())
    })
}

#[test]
fn two_lists_of_expectations_in_one_function_are_two() {
    let a = expect(|e| {
        e.no_fallback()
            .no_retrace()
            .no_implicit_copy()
            .max_copies(1)
            .max_bytes_moved(1)
            .on("CPU:0", "a")
            .on("CPU:0", "b")
    });
    let first = format!("{a:?}");
    let b = expect(|e| {
        e.no_retrace()
            .no_fallback()
            .no_implicit_copy()
            .max_copies(2)
            .max_bytes_moved(2)
            .on("CPU:0", "c")
            .on("CPU:0", "d")
    });
    assert_eq!(format!("{a:?}"), first);
    let second = format!("{b:?}");
    for (text, own, other) in [(first, ["\"a\"", "\"b\""], "\"c\""), (second, ["\"c\"", "\"d\""], "\"a\"")] {
        assert!(own.iter().all(|name| text.contains(name)) && !text.contains(other), "{text}");
        assert_eq!(text.matches("NoFallback").count(), 1, "{text}");
    }
}
