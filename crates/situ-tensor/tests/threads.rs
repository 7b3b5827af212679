//! Variables that several threads change at once: no update is lost, none is seen by half, and nobody waits
//! for ever.

use situ_core::Result;
use situ_runtime::Runtime;
use situ_tensor::{Function, Variable, tensor, with_device, with_runtime};
use situ_testkit::machines;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Runs on the CPU so often and, where there is one, on the machine's GPU so often.
fn everywhere(test: impl Fn(&Runtime, usize) -> Result<()>) -> Result<()> {
    let cpu = machines::cpu();
    with_runtime(&cpu, || with_device("/CPU:0", || test(&cpu, 4000)))?;
    let Some(gpu) = machines::shared_cpu_and_gpu() else { return Ok(()) };
    with_runtime(gpu, || with_device("/GPU:0", || test(gpu, 300)))
}

fn zero() -> Result<Variable> {
    Variable::new(&tensor(0.0f32)?)
}

/// Runs closures on threads of their own, all from one moment on, in the runtime and the scope of this one.
fn at_once(runtime: &Runtime, place: &str, work: &[&(dyn Fn() -> Result<()> + Sync)]) -> Result<()> {
    let start = Barrier::new(work.len());
    std::thread::scope(|scope| {
        let running: Vec<_> = work
            .iter()
            .map(|work| {
                let start = &start;
                scope.spawn(move || {
                    with_runtime(runtime, || {
                        with_device(place, || {
                            start.wait();
                            work()
                        })
                    })
                })
            })
            .collect();
        running.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}

fn place(v: &Variable) -> String {
    v.device().to_string()
}

#[test]
fn functions_that_add_to_one_variable_from_several_threads_all_count() -> Result<()> {
    everywhere(|runtime, rounds| {
        let v = zero()?;
        let held = v.clone();
        let adds = Function::new(move |x| {
            held.assign_add(x)?;
            Ok(x.clone())
        });
        let one = tensor(1.0f32)?;
        adds.call(&one)?;
        let work = || (0..rounds).try_for_each(|_| adds.call(&one).map(drop));
        let eager = || (0..rounds).try_for_each(|_| v.assign_add(&one));
        at_once(runtime, &place(&v), &[&work, &work, &work, &eager])?;
        assert_eq!(v.value().item::<f32>()?, (4 * rounds + 1) as f32);
        Ok(())
    })
}

#[test]
fn functions_over_overlapping_variables_neither_lose_updates_nor_wait_for_ever() -> Result<()> {
    everywhere(|runtime, rounds| {
        let (a, b, c) = (zero()?, zero()?, zero()?);
        let one = tensor(1.0f32)?;
        // Every pair, named in either order.
        let adding = |first: &Variable, second: &Variable| {
            let held = [first.clone(), second.clone()];
            let one = one.clone();
            Function::many(move |_| {
                held[0].assign_add(&one)?;
                held[1].assign_add(&one)?;
                Ok(vec![])
            })
        };
        let pairs = [adding(&a, &b), adding(&b, &c), adding(&c, &a), adding(&b, &a)];
        let runs = |f: &Function| (0..rounds).try_for_each(|_| f.call_many(&[]).map(drop));
        let work = pairs.each_ref().map(|f| move || runs(f));
        at_once(runtime, &place(&a), &[&work[0], &work[1], &work[2], &work[3]])?;
        let counts = [&a, &b, &c].map(|v| v.value().item::<f32>());
        let [a, b, c] = counts.map(|count| count.map(|count| count as usize / rounds));
        assert_eq!((a?, b?, c?), (3, 3, 2));
        Ok(())
    })
}

#[test]
fn what_one_call_reads_another_does_not_change_under_it() -> Result<()> {
    everywhere(|runtime, rounds| {
        // Each makes its own one more than the other: after any whole call they differ by one.
        let (a, b) = (Variable::new(&tensor(1i32)?)?, Variable::new(&tensor(1i32)?)?);
        let swap = |from: &Variable, to: &Variable| {
            let (from, to) = (from.clone(), to.clone());
            Function::many(move |_| {
                to.assign(&from.value().add(&tensor(1i32)?)?)?;
                Ok(vec![])
            })
        };
        let (ab, ba) = (swap(&a, &b), swap(&b, &a));
        let runs = |f: &Function| (0..rounds).try_for_each(|_| f.call_many(&[]).map(drop));
        let work = [&ab, &ba].map(|f| move || runs(f));
        at_once(runtime, &place(&a), &[&work[0], &work[1]])?;
        // Calls that read the same moment would have left them equal, or further apart.
        let (a, b) = (a.value().item::<i32>()?, b.value().item::<i32>()?);
        assert_eq!((a - b).abs(), 1, "{a} and {b}");
        Ok(())
    })
}

#[test]
fn who_reads_several_variables_sees_all_of_a_call_or_nothing() -> Result<()> {
    everywhere(|runtime, rounds| {
        let variables = (0..6).map(|_| zero()).collect::<Result<Vec<_>>>()?;
        let (held, read) = (variables.clone(), variables.clone());
        let one = tensor(1.0f32)?;
        let counts = Function::many(move |_| {
            held.iter().try_for_each(|v| v.assign_add(&one))?;
            Ok(vec![])
        });
        let sees = Function::many(move |_| Ok(read.iter().rev().map(Variable::value).collect()));
        let over = AtomicBool::new(false);
        let writing = || {
            let done = (0..rounds).try_for_each(|_| counts.call_many(&[]).map(drop));
            over.store(true, Relaxed);
            done
        };
        let reading = || {
            while !over.load(Relaxed) {
                let seen = sees.call_many(&[])?;
                let seen = seen.iter().map(|t| t.item::<f32>()).collect::<Result<Vec<_>>>()?;
                assert!(seen.iter().all(|v| *v == seen[0]), "{seen:?}");
            }
            Ok(())
        };
        at_once(runtime, &place(&variables[0]), &[&writing, &reading, &reading])?;
        assert_eq!(variables[5].value().item::<f32>()?, rounds as f32);
        Ok(())
    })
}
