//! Views cost nothing: they share memory with what they look at.

use situ_core::{DType, Result};
use situ_tensor::{Span, arange, tensor, with_runtime};
use situ_testkit::machines::cpu;

#[test]
fn views_share_memory_and_a_reshape_copies_only_where_it_must() -> Result<()> {
    with_runtime(&cpu(), || {
        let x = arange(24, DType::I32)?.reshape(&[2, 3, 4])?;
        for view in [
            x.transpose(&[])?,
            x.transpose(&[1, -1, 0])?,
            x.slice(&[(1..).into(), Span::ALL.by(-1)])?,
            x.expand(&[5, 2, 3, 4])?,
            x.narrow(-1, 1, 3)?,
            x.expand_dims(1)?,
            x.reshape(&[6, -1])?,
            x.transpose(&[2, 0, 1])?.reshape(&[4, 6])?,
            x.split(2, -1)?.remove(1),
            x.narrow(0, 0, 1)?.squeeze(&[0])?,
        ] {
            assert!(view.shares_memory_with(&x), "{}", view.shape());
        }
        let moved = x.transpose(&[])?.reshape(&[24])?;
        assert!(!moved.shares_memory_with(&x));
        assert_eq!(moved.to_vec::<i32>()?[..4], [0, 12, 4, 16]);
        Ok(())
    })
}

#[test]
fn slices_follow_python() -> Result<()> {
    with_runtime(&cpu(), || {
        let x = tensor([0, 1, 2, 3, 4, 5])?;
        let at = |span: Span| x.slice(&[span])?.to_vec::<i32>();
        assert_eq!(at((1..4).into())?, [1, 2, 3]);
        assert_eq!(at((-2..).into())?, [4, 5]);
        assert_eq!(at((..-4).into())?, [0, 1]);
        assert_eq!(at(Span::ALL.by(4))?, [0, 4]);
        assert_eq!(at(Span::ALL.by(-2))?, [5, 3, 1]);
        assert_eq!(at(Span { start: Some(4), stop: Some(1), step: -1 })?, [4, 3, 2]);
        assert!(at(Span { start: Some(4), stop: Some(2), step: 1 })?.is_empty());
        assert_eq!(at((-100..100).into())?, [0, 1, 2, 3, 4, 5]);
        assert_eq!(at(Span::ALL.by(isize::MAX))?, [0]);
        assert_eq!(at(Span::ALL.by(isize::MIN))?, [5]);
        Ok(())
    })
}

#[test]
fn a_tensor_outlives_what_it_is_a_view_of() -> Result<()> {
    with_runtime(&cpu(), || {
        let row = {
            let whole = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
            whole.narrow(0, 1, 2)?
        };
        assert_eq!(row.to_vec::<f32>()?, [3.0, 4.0]);
        Ok(())
    })
}

#[test]
fn tensors_print_their_rows() -> Result<()> {
    with_runtime(&cpu(), || {
        let x = tensor([[1, 2], [3, 4]])?;
        assert_eq!(x.to_string(), "[[1, 2],\n [3, 4]]");
        assert_eq!(tensor(2.5f32)?.to_string(), "2.5");
        assert_eq!(tensor([0.0f32; 0])?.to_string(), "[]");
        let long = arange(100, DType::I32)?.to_string();
        assert_eq!(long, "[0, 1, 2, …, 97, 98, 99]");
        assert_eq!(format!("{:?}", tensor([true])?), "Tensor(bool[1] on CPU:0: stays with the host's data)");
        Ok(())
    })
}
