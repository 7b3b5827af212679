//! A child of a fork has the memory of its parent and none of its threads: nothing hangs there. The CPU goes
//! on computing, on the calling thread; a GPU says that it is lost.

#![cfg(unix)]

use situ_core::{DeviceId, Result};
use situ_runtime::{LogicalConfig, Runtime};
use situ_tensor::{Function, Tensor, constant, with_device, with_runtime};
use situ_testkit::machines;
use std::time::{Duration, Instant};

/// Runs `body` in a child, and gives what it said: `Err` if it failed, panicked, or is not done after two
/// minutes.
fn in_child(body: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the child only runs `body`, writes what it said and ends; no other thread's lock is asked for
    // on the way that this test knows of, and finding one is what the test is for.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "the system has no process to spare");
    if child == 0 {
        let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        let text = match said {
            Ok(Ok(())) => "fine".to_string(),
            Ok(Err(why)) => why,
            Err(_) => "it panicked".to_string(),
        };
        // SAFETY: the bytes are there; the process ends without running what the parent has yet to run.
        unsafe {
            libc::write(ends[1], text.as_ptr().cast(), text.len());
            libc::_exit(0);
        }
    }
    let until = Instant::now() + Duration::from_secs(120);
    let mut status = 0;
    // SAFETY: the child is ours, and the status can be written.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if Instant::now() > until {
            // SAFETY: as above; it is waited for, so that its number is not somebody else's.
            unsafe {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, &raw mut status, 0);
            }
            return Err("the child hangs".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut text = [0; 4096];
    // SAFETY: the writing end is closed first, so that reading ends where the child's words do.
    let read = unsafe {
        libc::close(ends[1]);
        let read = libc::read(ends[0], text.as_mut_ptr().cast(), text.len());
        libc::close(ends[0]);
        read
    };
    match String::from_utf8_lossy(&text[..read.max(0) as usize]).as_ref() {
        "fine" => Ok(()),
        other => Err(format!("status {status}: {other}")),
    }
}

fn data() -> Result<Tensor> {
    let values: Vec<f32> = (0..512 * 512).map(|i| (i % 97) as f32 / 97.0).collect();
    constant(&values, &[512, 512])
}

/// Enough work for every thread of a pool.
fn work(x: &Tensor) -> Result<Tensor> {
    x.matmul(x)?.tanh()?.add(x)?.sum(&[0])
}

fn computes_in_a_child(runtime: &Runtime, scope: &str) -> Result<()> {
    with_runtime(runtime, || {
        let x = data()?;
        let (first, second) = (Function::new(work), Function::new(|x| work(x)?.add(&x.exp()?.mean(&[0])?)));
        let run = || with_device(scope, || Ok([work(&x)?, first.call(&x)?, second.call(&x)?]));
        let bytes = |all: [Tensor; 3]| all.iter().map(Tensor::to_bytes).collect::<Result<Vec<_>>>();
        let before = bytes(run()?)?;
        let child = in_child(|| match run().and_then(bytes) {
            Ok(after) if after == before => Ok(()),
            Ok(_) => Err("other numbers".into()),
            Err(error) => Err(error.to_string()),
        });
        assert_eq!(child, Ok(()), "{scope}");
        assert_eq!(bytes(run()?)?, before, "the parent goes on");
        Ok(())
    })
}

#[test]
fn a_cpu_computes_the_same_without_its_workers() -> Result<()> {
    let runtime = machines::cpu();
    runtime.set_intra_op_threads(Some(3))?;
    computes_in_a_child(&runtime, "/CPU:0")
}

#[test]
fn a_cpu_with_cores_of_its_own_and_lanes_beside_each_other_do_too() -> Result<()> {
    let runtime = machines::cpu();
    runtime
        .set_logical_devices(DeviceId::CPU0, &[LogicalConfig::cores([0]), LogicalConfig::limit(1 << 28)])?;
    computes_in_a_child(&runtime, "/CPU:0")?;
    let runtime = machines::cpu();
    runtime.set_inter_op_threads(Some(3))?;
    computes_in_a_child(&runtime, "/CPU:0")
}

#[test]
fn a_gpu_is_lost_to_the_child_and_not_to_the_parent() -> Result<()> {
    let Some(runtime) = machines::cpu_and_gpu() else { return Ok(()) };
    with_runtime(&runtime, || {
        let x = data()?;
        let on_gpu = || with_device("/GPU:0", || work(&x)).and_then(|y| y.to_vec::<f32>());
        let host = with_device("/CPU:0", || work(&x))?.to_vec::<f32>()?;
        let lost = |what: &str, result: Result<Vec<f32>>| match result {
            Err(error) if error.to_string().contains("fork") => Ok(()),
            Err(other) => Err(format!("{what}: {other}")),
            Ok(_) => Err(format!("{what}: it gave numbers")),
        };
        // An op may run elsewhere instead, as it may whenever a scope can't be met.
        let lost_or_elsewhere = |what: &str, result: Result<Vec<f32>>| match result {
            Ok(made) if made.iter().zip(&host).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs()) => Ok(()),
            other => lost(what, other),
        };
        // Known and not opened: drivers have threads by then.
        assert_eq!(in_child(|| lost_or_elsewhere("opening", on_gpu())), Ok(()));
        let before = on_gpu()?;
        let queued = with_device("/GPU:0", || work(&x))?;
        let function = Function::new(work);
        with_device("/GPU:0", || function.call(&x))?;
        let child = in_child(|| {
            lost("reading", queued.to_vec::<f32>())?;
            lost_or_elsewhere("an op", on_gpu())?;
            for scope in ["/GPU:0", "/CPU:0"] {
                let made = with_device(scope, || function.call(&x)).and_then(|y| y.to_vec::<f32>());
                lost_or_elsewhere("a function", made)?;
            }
            Ok(())
        });
        assert_eq!(child, Ok(()));
        assert_eq!(on_gpu()?, before, "the parent goes on");
        assert_eq!(queued.to_vec::<f32>()?, before);
        Ok(())
    })
}
