//! Bad data met by a device that tells of it later: every way to a result tells of it, and no variable keeps
//! anything of it.

use situ_core::error::Fault;
use situ_core::{DType, Error, Result};
use situ_runtime::Runtime;
use situ_tensor::{Function, Tensor, Variable, cond, tensor, while_loop, with_device, with_runtime};
use situ_testkit::machines;

/// Runs on the CPU and, where there is one, on the machine's GPU.
fn everywhere(test: impl Fn(&Runtime) -> Result<()>) -> Result<()> {
    let cpu = machines::cpu();
    with_runtime(&cpu, || with_device("/CPU:0", || test(&cpu)))?;
    let Some(gpu) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    with_runtime(gpu, || with_device("/GPU:0", || test(gpu)))
}

fn table() -> Result<(Tensor, Tensor, Tensor)> {
    Ok((tensor([10.0f32, 20.0, 30.0])?, tensor([0, 2, 1])?, tensor([0, 7, 1])?))
}

/// The error of a bad index, with the op and a line of this file.
#[track_caller]
fn is_bad_index<T: std::fmt::Debug>(result: Result<T>, op: &str) {
    match result {
        Err(Error::Data(data)) => {
            assert_eq!(data.op, op);
            assert!(matches!(data.fault, Fault::OutOfRange { value: 7, limit: 3, .. }), "{data:?}");
            let file = data.location.map(|at| at.file()).unwrap_or_default();
            assert!(file.ends_with("checks.rs"), "{file}");
        }
        other => panic!("a bad index gave {other:?}"),
    }
}

/// What a call gives, or what reading it does: a device may tell of bad data at either.
fn read(made: Result<Vec<Tensor>>) -> Result<Vec<f32>> {
    made?[0].to_vec::<f32>()
}

#[test]
fn bad_data_in_a_branch_is_an_error_of_the_function() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let f = Function::many(|a| {
            let (t, i) = (&a[0], &a[1]);
            let up = t.sum(&[])?.greater(&a[2])?;
            let made = cond(&up, || Ok(vec![t.gather(i, 0)?]), || Ok(vec![i.cast(DType::F32)?]))?;
            Ok(vec![made[0].add(t)?])
        });
        let zero = tensor(0.0f32)?;
        assert_eq!(read(f.call_many(&[&table, &good, &zero]))?, [20.0, 50.0, 50.0]);
        is_bad_index(read(f.call_many(&[&table, &bad, &zero])), "gather");
        // The other side does not look at the table.
        assert_eq!(read(f.call_many(&[&table, &bad, &tensor(1e9f32)?]))?, [10.0, 27.0, 31.0]);
        runtime.sync()?;
        assert_eq!(read(f.call_many(&[&table, &good, &zero]))?, [20.0, 50.0, 50.0]);
        Ok(())
    })
}

#[test]
fn bad_data_in_a_branch_within_a_branch_is_an_error_of_the_function() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let f = Function::many(|a| {
            let (t, i) = (&a[0], &a[1]);
            let up = t.sum(&[])?.greater(&a[2])?;
            let inner = || cond(&up, || Ok(vec![t.gather(i, 0)?]), || Ok(vec![t.clone()]));
            cond(&up, inner, || Ok(vec![t.clone()]))
        });
        let zero = tensor(0.0f32)?;
        assert_eq!(read(f.call_many(&[&table, &good, &zero]))?, [10.0, 30.0, 20.0]);
        is_bad_index(read(f.call_many(&[&table, &bad, &zero])), "gather");
        runtime.sync()
    })
}

#[test]
fn bad_data_in_the_last_trip_of_a_loop_is_an_error() -> Result<()> {
    everywhere(|runtime| {
        let (table, _, _) = table()?;
        // The second trip takes an index that is out of range; the condition knows nothing of what is
        // gathered.
        let f = Function::many(|a| {
            let (t, step) = (&a[0], &a[1]);
            let state = [a[2].clone(), a[2].cast(DType::F32)?];
            let made =
                while_loop(&state, |s| s[0].less(&a[3]), |s| Ok(vec![s[0].add(step)?, t.gather(&s[0], 0)?]))?;
            Ok(vec![made[1].clone()])
        });
        let (seven, none, most) = (tensor(7)?, tensor(0)?, tensor(10)?);
        is_bad_index(read(f.call_many(&[&table, &seven, &none, &most])), "gather");
        runtime.sync()?;
        let one = tensor(1)?;
        assert_eq!(read(f.call_many(&[&table, &one, &none, &tensor(3)?]))?, [30.0]);
        Ok(())
    })
}

#[test]
fn a_loop_does_not_go_on_by_bad_data() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        // What a bad index gives may be nothing at all: the loop would never end.
        let f = Function::many(|a| {
            let step = a[0].gather(&a[1], 0)?.narrow(0, 1, 2)?.sum(&[])?;
            let least = a[0].gather(&a[1], 0)?.sum(&[])?;
            while_loop(&[least], |s| s[0].less(&a[2]), |s| Ok(vec![s[0].add(&step)?]))
        });
        let most = tensor(100.0f32)?;
        assert_eq!(read(f.call_many(&[&table, &good, &most]))?, [120.0]);
        is_bad_index(read(f.call_many(&[&table, &bad, &most])), "gather");
        runtime.sync()
    })
}

#[test]
fn sync_tells_of_bad_data_whose_result_was_dropped() -> Result<()> {
    everywhere(|runtime| {
        let (table, _, bad) = table()?;
        let plain = Function::new2(|t, i| t.gather(i, 0));
        is_bad_index(plain.call2(&table, &bad).map(drop).and_then(|()| runtime.sync()), "gather");
        let branch = Function::new2(|t, i| {
            let up = t.sum(&[])?.greater(&t.min(&[])?)?;
            Ok(cond(&up, || Ok(vec![t.gather(i, 0)?]), || Ok(vec![i.cast(DType::F32)?]))?[0].clone())
        });
        is_bad_index(branch.call2(&table, &bad).map(drop).and_then(|()| runtime.sync()), "gather");
        // It is told once.
        runtime.sync()
    })
}

#[test]
fn a_division_by_zero_inside_a_fused_program_is_told() -> Result<()> {
    everywhere(|runtime| {
        let f = Function::new2(|a, b| a.add(b)?.div(b)?.mul(a));
        let a = tensor([8, 9])?;
        assert_eq!(f.call2(&a, &tensor([2, 3])?)?.to_vec::<i32>()?, [40, 36]);
        let told = f.call2(&a, &tensor([2, 0])?).and_then(|y| y.to_vec::<i32>());
        assert!(matches!(&told, Err(Error::Data(data)) if data.fault == Fault::DivisionByZero), "{told:?}");
        let total = Variable::new(&tensor([0, 0])?)?;
        let held = total.clone();
        let adds = Function::new2(move |a, b| {
            let ratio = a.add(b)?.div(b)?.mul(a)?;
            held.assign_add(&ratio)?;
            Ok(ratio)
        });
        adds.call2(&a, &tensor([2, 3])?)?;
        adds.call2(&a, &tensor([0, 3])?).unwrap_err();
        assert_eq!(total.value().to_vec::<i32>()?, [40, 36]);
        runtime.sync()
    })
}

#[test]
fn a_call_that_meets_bad_data_changes_no_variable() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let [sum, count, last] = [(); 3].map(|()| Variable::new(&tensor([0.0f32, 0.0, 0.0])?));
        let (sum, count, last) = (sum?, count?, last?);
        let held = [sum.clone(), count.clone(), last.clone()];
        let f = Function::many(move |a| {
            let found = a[0].gather(&a[1], 0)?;
            held[0].assign_add(&found)?;
            // This one has nothing to do with the index.
            held[1].assign_add(&tensor([1.0f32, 1.0, 1.0])?)?;
            held[2].assign(&a[0])?;
            Ok(vec![])
        });
        let values = || -> Result<Vec<Vec<f32>>> {
            [&sum, &count, &last].iter().map(|v| v.value().to_vec()).collect()
        };
        f.call_many(&[&table, &good])?;
        let before = values()?;
        assert_eq!(before, [[10.0, 30.0, 20.0], [1.0; 3], [10.0, 20.0, 30.0]]);
        for _ in 0..3 {
            is_bad_index(f.call_many(&[&table, &bad]), "gather");
            assert_eq!(values()?, before);
        }
        // The program knows: sync has nothing more to say.
        runtime.sync()?;
        f.call_many(&[&table, &good])?;
        assert_eq!(values()?, [[20.0, 60.0, 40.0], [2.0; 3], [10.0, 20.0, 30.0]]);
        Ok(())
    })
}

#[test]
fn a_call_that_was_given_bad_data_changes_no_variable() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let sum = Variable::new(&tensor([1.0f32, 1.0, 1.0])?)?;
        let held = sum.clone();
        let adds = Function::new(move |x| {
            held.assign_add(x)?;
            x.sum(&[])
        });
        let lookup = Function::new2(|t, i| t.gather(i, 0));
        let given = table.gather(&bad, 0).and_then(|found| adds.call(&found));
        is_bad_index(given, "gather");
        is_bad_index(lookup.call2(&table, &bad).and_then(|found| adds.call(&found)), "gather");
        assert_eq!(sum.value().to_vec::<f32>()?, [1.0; 3]);
        assert_eq!(adds.call(&lookup.call2(&table, &good)?)?.item::<f32>()?, 60.0);
        assert_eq!(sum.value().to_vec::<f32>()?, [11.0, 31.0, 21.0]);
        runtime.sync()
    })
}

#[test]
fn bad_data_in_a_branch_changes_no_variable() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let sum = Variable::new(&tensor([1.0f32, 1.0, 1.0])?)?;
        let held = sum.clone();
        let f = Function::new2(move |t, i| {
            let up = t.sum(&[])?.greater(&t.min(&[])?)?;
            let found = cond(&up, || Ok(vec![t.gather(i, 0)?]), || Ok(vec![t.clone()]))?;
            held.assign_add(t)?;
            Ok(found[0].clone())
        });
        is_bad_index(f.call2(&table, &bad), "gather");
        assert_eq!(sum.value().to_vec::<f32>()?, [1.0; 3]);
        assert_eq!(f.call2(&table, &good)?.to_vec::<f32>()?, [10.0, 30.0, 20.0]);
        assert_eq!(sum.value().to_vec::<f32>()?, [11.0, 21.0, 31.0]);
        runtime.sync()
    })
}

#[test]
fn an_assignment_of_bad_data_changes_no_variable() -> Result<()> {
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let v = Variable::new(&tensor([1.0f32, 2.0, 3.0])?)?;
        let far = with_device("/CPU:0", || Variable::new(&tensor([1.0f32, 2.0, 3.0])?))?;
        for v in [&v, &far] {
            let found = || table.gather(&bad, 0);
            is_bad_index(found().and_then(|found| v.assign(&found)), "gather");
            is_bad_index(found().and_then(|found| v.assign_add(&found)), "gather");
            is_bad_index(found().and_then(|found| v.assign_sub(&found)), "gather");
            assert_eq!(v.value().to_vec::<f32>()?, [1.0, 2.0, 3.0]);
            v.assign_add(&table.gather(&good, 0)?)?;
            assert_eq!(v.value().to_vec::<f32>()?, [11.0, 32.0, 23.0]);
        }
        is_bad_index(table.gather(&bad, 0).and_then(|found| Variable::new(&found)), "gather");
        runtime.sync()
    })
}

#[test]
fn a_step_of_an_optimizer_on_bad_data_changes_neither_weight_nor_state() -> Result<()> {
    use situ_core::Real;
    use situ_ir::ops::{Update, UpdateKind};
    everywhere(|runtime| {
        let (table, good, bad) = table()?;
        let w = Variable::new(&tensor([1.0f32, 2.0, 3.0])?)?;
        let velocity = Variable::new(&tensor([0.5f32, 0.5, 0.5])?)?;
        let kind = UpdateKind::Sgd { momentum: Real(0.5), nesterov: false };
        let update = Update { kind, decay: Real(0.0), decoupled: false };
        let rates = tensor([1.0f32, 1.0])?;
        let stepped = |i: &Tensor| w.step(update, &table.gather(i, 0)?, &rates, &[&velocity]);
        is_bad_index(stepped(&bad), "gather");
        assert_eq!(w.value().to_vec::<f32>()?, [1.0, 2.0, 3.0]);
        assert_eq!(velocity.value().to_vec::<f32>()?, [0.5; 3]);
        stepped(&good)?;
        assert_eq!(velocity.value().to_vec::<f32>()?, [10.25, 30.25, 20.25]);
        assert_eq!(w.value().to_vec::<f32>()?, [-9.25, -28.25, -17.25]);
        runtime.sync()
    })
}
