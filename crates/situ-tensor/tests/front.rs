//! A front end of another language: errors, the ledger, warnings, explanations and gradients tell of lines of
//! its programs.

use situ_core::location::FrontGuard;
use situ_core::{Error, Location, Policy, Result, locate_with};
use situ_runtime::{Cause, Runtime};
use situ_tensor::scope::line_scope;
use situ_tensor::{Function, Tape, tensor, with_device, with_runtime};
use situ_testkit::machines::{cpu, cpu_and};
use situ_testkit::simulated::SimulatedGpu;
use std::cell::Cell;
use std::sync::{Arc, Mutex};

thread_local! {
    /// The line that the interpreter of this thread is at.
    static LINE: Cell<u32> = const { Cell::new(0) };
    /// How often it was asked.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// An interpreter has this thread until the guard is dropped.
fn python() -> FrontGuard {
    locate_with(|| {
        ASKED.set(ASKED.get() + 1);
        Some(line(LINE.get()))
    })
}

/// Runs what stands in that line of its program.
fn at<T>(line: u32, body: impl FnOnce() -> T) -> T {
    let before = LINE.replace(line);
    let made = body();
    LINE.set(before);
    made
}

fn line(line: u32) -> Location {
    Location::line_of("model.py", line)
}

#[test]
fn an_op_that_just_runs_asks_nobody() -> Result<()> {
    let _front = python();
    with_runtime(&cpu(), || {
        let mut x = tensor([1.0f32, 2.0])?;
        for line in 1..100 {
            x = at(line, || x.add(&x)?.sqrt())?;
        }
        x.to_vec::<f32>()?;
        assert_eq!(ASKED.get(), 0);
        Ok(())
    })
}

#[test]
fn copies_fallbacks_and_warnings_are_of_the_lines_of_its_program() -> Result<()> {
    let runtime: Runtime = cpu_and(&[&SimulatedGpu::new().without_ops(&["erf"])]);
    runtime.set_fallback_policy(Policy::Warn)?;
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    runtime.set_listener(Some(Box::new(move |notice| heard.lock().unwrap().push(notice.text.clone()))));
    let _front = python();
    with_runtime(&runtime, || {
        let here = tensor([1.0f32, 2.0, 3.0])?;
        let there = at(10, || with_device("/GPU:0", || tensor([1.0f32, 2.0, 3.0])))?;
        at(11, || with_device("/GPU:0", || here.add(&there)))?;
        let copy = at(12, || here.to_device("/GPU:0"))?;
        at(13, || copy.to_vec::<f32>())?;
        at(14, || with_device("/GPU:0", || here.erf()))?;
        let ledger = runtime.ledger();
        for (cause, number) in [
            (Cause::Upload, 10),
            (Cause::Implicit, 11),
            (Cause::Explicit, 12),
            (Cause::Read, 13),
            (Cause::Fallback, 14),
        ] {
            let found: Vec<_> = ledger.entries.iter().filter(|e| e.cause == cause).collect();
            assert_eq!(found.len(), 1, "{cause:?}: {found:?}");
            assert_eq!(found[0].location, line(number), "{cause:?}");
        }
        assert!(ledger.to_string().contains("add at model.py:11\n"), "{ledger}");
        let said = said.lock().unwrap();
        assert!(said.iter().any(|text| text.contains("erf runs on CPU:0") && text.contains("(model.py:14)")));
        Ok(())
    })
}

#[test]
fn bad_data_is_of_its_line_wherever_and_whenever_it_is_met() -> Result<()> {
    let machines = [(cpu(), "/CPU:0"), (cpu_and(&[&SimulatedGpu::new()]), "/GPU:0")];
    for (runtime, device) in machines {
        let _front = python();
        with_runtime(&runtime, || {
            with_device(device, || {
                let (table, bad) = (tensor([10.0f32, 20.0])?, tensor([0, 7])?);
                let eager = at(20, || table.gather(&bad, 0));
                let eager = at(21, || eager.and_then(|t| t.to_vec::<f32>())).unwrap_err();
                let f = Function::new(move |i| at(22, || table.gather(i, 0)));
                let called = at(23, || f.call(&bad).and_then(|t| t.to_vec::<f32>())).unwrap_err();
                for (error, number) in [(eager, 20), (called, 22)] {
                    let Error::Data(data) = &error else { panic!("{error}") };
                    assert_eq!(data.location, Some(line(number)), "{device}");
                    assert!(
                        error.to_string().ends_with(&format!("(called at model.py:{number})")),
                        "{error}"
                    );
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

#[test]
fn a_traced_function_is_explained_by_its_lines_whoever_looks_from_wherever() -> Result<()> {
    let f = {
        let _front = python();
        at(30, || Function::new(|x| at(31, || x.matmul(x))?.add(&at(32, || x.exp())?)))
    };
    let (f, x) = with_runtime(&cpu(), || {
        let _front = python();
        let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
        at(33, || f.call(&x))?;
        Ok::<_, Error>((f, x))
    })?;
    let explained = f.explain(&[&x])?;
    let text = explained.to_string();
    assert!(text.contains("function at model.py:30") || f.name() == "function at model.py:30", "{text}");
    let sources: Vec<String> = f.places(&[&x])?.iter().map(|place| place.source.to_string()).collect();
    assert!(
        sources.contains(&"model.py:31".into()) && sources.contains(&"model.py:33".into()),
        "{sources:?}"
    );
    assert!(text.contains("model.py:31") && !text.contains("front.rs"), "{text}");
    // Another thread's interpreter, at another line: what was traced keeps its own.
    std::thread::scope(|threads| {
        let other = threads.spawn(|| {
            let _front = python();
            at(99, || Ok::<_, Error>(f.explain(&[&x])?.to_string()))
        });
        assert_eq!(other.join().expect("it ends")?, text);
        Ok(())
    })
}

#[test]
fn a_gradient_is_of_the_lines_that_it_is_the_gradient_of() -> Result<()> {
    let _front = python();
    with_runtime(&cpu(), || {
        let f = Function::new(|x| {
            let tape = Tape::new();
            let x = tape.watch(x)?;
            let y = at(41, || x.sin())?;
            at(42, || tape.gradient(&y, &x))?
                .ok_or_else(|| Error::argument("gradient", "it depends on it", ""))
        });
        let places = f.places(&[&tensor([1.0f32, 2.0])?])?;
        let gradient: Vec<_> = places.iter().filter(|p| p.full_name().starts_with("gradient/")).collect();
        assert!(!gradient.is_empty());
        for place in gradient {
            assert_eq!(place.source.to_string(), "model.py:41", "{}", place.full_name());
        }
        Ok(())
    })
}

#[test]
fn a_node_of_a_models_file_is_said_as_it_is_named_there() -> Result<()> {
    let runtime: Runtime = cpu_and(&[&SimulatedGpu::new()]);
    with_runtime(&runtime, || {
        let x = tensor([1.0f32, 4.0])?;
        let node = line_scope(Location::node_of("resnet.onnx", "/layer1/Sqrt"));
        let y = with_device("/GPU:0", || x.sqrt())?;
        drop(node);
        assert_eq!(y.device().to_string(), "GPU:0");
        let ledger = runtime.ledger();
        assert!(ledger.to_string().contains("sqrt at resnet.onnx:/layer1/Sqrt\n"), "{ledger}");
        Ok(())
    })
}
