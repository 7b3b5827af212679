//! Reading and printing: what does not fit the memory is an error, and printing reads what it prints.

use situ_core::{DType, Error, Result};
use situ_runtime::Runtime;
use situ_tensor::{arange, tensor, with_device, with_runtime, zeros};
use situ_testkit::machines;

#[test]
fn views_larger_than_any_memory_are_errors_to_read_and_can_be_printed() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        // 2 PiB: more than the address space of a process.
        let huge = tensor([7.0f32])?.expand(&[1 << 49])?;
        for error in [huge.to_vec::<f32>().map(|_| ()), huge.to_bytes().map(|_| ())] {
            let Err(Error::OutOfMemory(error)) = error else { panic!("{error:?}") };
            assert_eq!(error.requested, 1 << 51);
            assert!(error.to_string().contains("slice"), "{error}");
        }
        assert_eq!(huge.to_string(), "[7, 7, 7, …, 7, 7, 7]");
        assert_eq!(huge.slice(&[(0..2isize).into()])?.to_vec::<f32>()?, [7.0, 7.0]);
        Ok(())
    })
}

#[test]
fn axes_without_elements_are_printed_at_once_however_many_there_are() -> Result<()> {
    with_runtime(&machines::cpu(), || {
        let rows = zeros(&[1 << 50, 0], DType::F32)?.to_string();
        assert_eq!(rows, "[[],\n [],\n [],\n …,\n [],\n [],\n []]");
        assert_eq!(zeros(&[0, 1 << 50], DType::F32)?.to_string(), "[]");
        assert_eq!(zeros(&[2, 0], DType::F32)?.to_string(), "[[],\n []]");
        Ok(())
    })
}

/// A large tensor is printed as its parts are, wherever it lies and however.
fn prints_the_ends(runtime: &Runtime, device: &str) -> Result<()> {
    with_runtime(runtime, || {
        with_device(device, || {
            let x = arange(700 * 7 * 100, DType::I32)?.reshape(&[700, 7, 100])?;
            let text = x.to_string();
            assert!(text.starts_with("[[[0, 1, 2, …, 97, 98, 99],\n  [100, 101, 102, …,"), "{text}");
            assert!(text.ends_with("[489900, 489901, 489902, …, 489997, 489998, 489999]]]"), "{text}");
            assert_eq!(text.matches('…').count(), 6 * 6 + 6 + 1);
            let turned = x.transpose(&[])?.to_string();
            assert!(turned.starts_with("[[[0, 700, 1400, …, 487900, 488600, 489300],"), "{turned}");
            assert_eq!(zeros(&[300_000, 2], DType::F32)?.to_string().lines().count(), 7);
            Ok(())
        })
    })
}

#[test]
fn large_tensors_are_printed_by_their_ends_on_the_cpu() -> Result<()> {
    prints_the_ends(&machines::cpu(), "/CPU:0")
}

#[test]
fn large_tensors_are_printed_by_their_ends_on_the_gpu() -> Result<()> {
    machines::shared_cpu_and_gpu().map_or(Ok(()), |runtime| prints_the_ends(runtime, "/GPU:0"))
}
