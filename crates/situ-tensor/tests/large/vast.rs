//! More than 2³¹ elements on the CPU: bytes, whose places no 32-bit number holds. Some GiB of memory and
//! minutes: `SITU_LARGE=all` only.

use situ_core::{DType, Error, Result};
use situ_runtime::Runtime;
use situ_tensor::{Function, Span, Tensor, concat, full, tensor, where_, with_runtime, zeros};
use situ_testkit::machines;
use situ_testkit::suite::large;

/// Just beyond what an i32 counts, and not round.
const COUNT: usize = (1 << 31) + 12_345;

/// Runs where all large cases are asked for.
fn vast(body: impl FnOnce(&Runtime) -> Result<()>) -> Result<()> {
    if !large::everything() {
        println!("skipped: set SITU_LARGE=all");
        return Ok(());
    }
    let runtime = machines::cpu();
    with_runtime(&runtime, || body(&runtime))
}

/// Ones with a seven in the last place.
fn marked() -> Result<Tensor> {
    concat(&[&full(&[COUNT - 1], 1u8)?, &tensor([7u8])?], 0)
}

fn ends(x: &Tensor) -> Result<[u8; 4]> {
    let n = x.elements();
    let at = |place: usize| x.narrow(0, place, place + 1)?.item::<u8>();
    Ok([at(0)?, at(1 << 31)?, at(n - 2)?, at(n - 1)?])
}

#[test]
fn elements_beyond_two_billion_are_computed() -> Result<()> {
    vast(|_| {
        let x = marked()?;
        assert_eq!(ends(&x)?, [1, 1, 1, 7]);
        assert_eq!(ends(&x.add(&x)?)?, [2, 2, 2, 14]);
        assert_eq!(ends(&(&x * 3.0)?)?, [3, 3, 3, 21]);
        let f = Function::new(|x| x.add(x)?.neg()?.neg());
        assert_eq!(ends(&f.call(&x)?)?, [2, 2, 2, 14]);
        let chosen = where_(&x.equal(&tensor([7u8])?)?, &tensor([9u8])?, &tensor([4u8])?)?;
        assert_eq!(ends(&chosen)?, [4, 4, 4, 9]);
        Ok(())
    })
}

#[test]
fn reductions_beyond_two_billion_count_to_the_end() -> Result<()> {
    vast(|_| {
        let x = marked()?;
        assert_eq!(x.max(&[])?.item::<u8>()?, 7);
        assert_eq!(x.sum(&[])?.item::<u8>()?, ((COUNT + 6) % 256) as u8);
        let truths = x.equal(&tensor([7u8])?)?;
        assert!(truths.any(&[])?.item::<bool>()?);
        // Positions are i32: what they can't hold is refused.
        let Err(Error::Operands(error)) = x.argmax(&[]) else { panic!("argmax counts in i32") };
        assert!(error.to_string().contains("i32"), "{error}");
        let columns = x.narrow(0, COUNT - (1 << 31), COUNT)?.reshape(&[1 << 30, 2])?;
        assert_eq!(columns.max(&[0])?.to_vec::<u8>()?, [1, 7]);
        assert_eq!(columns.argmax(&[0])?.to_vec::<i32>()?, [0, (1 << 30) - 1]);
        Ok(())
    })
}

#[test]
fn moves_beyond_two_billion_keep_their_places() -> Result<()> {
    vast(|_| {
        let x = marked()?;
        let picked = x.gather(&tensor([COUNT as i64 - 1, 0, 1 << 31, COUNT as i64 - 1])?, 0)?;
        assert_eq!(picked.to_vec::<u8>()?, [7, 1, 1, 7]);
        let turned = x.slice(&[Span::ALL.by(-1)])?;
        assert_eq!(turned.add(&tensor([0u8])?)?.narrow(0, 0, 2)?.to_vec::<u8>()?, [7, 1]);
        let wide = x.pad(&[(1, 2)], 5.0)?;
        assert_eq!(wide.narrow(0, COUNT, COUNT + 3)?.to_vec::<u8>()?, [7, 5, 5]);
        let added = zeros(&[COUNT], DType::U8)?.scatter_add(
            &tensor([COUNT as i64 - 1, COUNT as i64 - 1, 3])?,
            &tensor([4u8, 5, 6])?,
            0,
        )?;
        assert_eq!(added.narrow(0, COUNT - 2, COUNT)?.to_vec::<u8>()?, [0, 9]);
        assert_eq!(added.narrow(0, 0, 5)?.to_vec::<u8>()?, [0, 0, 0, 6, 0]);
        Ok(())
    })
}
