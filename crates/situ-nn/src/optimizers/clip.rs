//! Limits on gradients, before they are used.

use crate::Weight;
use situ_core::{Error, Result};
use situ_tensor::Tensor;

/// A limit on gradients.
///
/// Norms are clipped as Keras does it, `g · limit / max(norm, limit)`: gradients within the limit are left as
/// they are. (PyTorch adds 1e-6 to the norm.)
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Clip {
    /// Gradients are left as they are.
    #[default]
    None,
    /// Every element to the range from −limit to limit.
    Value(f64),
    /// Each gradient to a norm of at most this.
    Norm(f64),
    /// All gradients together to a norm of at most this.
    GlobalNorm(f64),
}

impl Clip {
    /// Clips the gradients of these weights. Ops run where the weights live; the global norm is added up
    /// where the first one does. Gradients that are rows stay so, as long as there are few of them, or
    /// `keeps_rows` of the weight's number says that they must.
    pub(super) fn apply(
        self,
        weights: &[Weight],
        gradients: &mut [Option<Tensor>],
        keeps_rows: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let limit = match self {
            Clip::None => return Ok(()),
            Clip::Value(limit) | Clip::Norm(limit) | Clip::GlobalNorm(limit) => limit,
        };
        if limit.is_nan() || limit <= 0.0 {
            return Err(Error::argument(
                "clip",
                format!("a limit of {limit} leaves nothing"),
                "use a positive number",
            ));
        }
        for (number, (weight, gradient)) in weights.iter().zip(&mut *gradients).enumerate() {
            let (Some(gradient), _there) = (gradient, weight.variable.device_scope()) else { continue };
            *gradient = summed(gradient, keeps_rows(number))?;
        }
        let mut pairs: Vec<(&Weight, &mut Tensor)> =
            weights.iter().zip(gradients).filter_map(|(w, g)| Some((w, g.as_mut()?))).collect();
        match self {
            Clip::None => {}
            Clip::Value(_) => {
                for (weight, gradient) in &mut pairs {
                    let _there = weight.variable.device_scope();
                    **gradient = with_numbers(gradient, &numbers(gradient).clip(-limit, limit)?)?;
                }
            }
            Clip::Norm(_) => {
                for (weight, gradient) in &mut pairs {
                    let _there = weight.variable.device_scope();
                    let factor = factor(&numbers(gradient).square()?.sum(&[])?, limit)?;
                    **gradient = with_numbers(gradient, &numbers(gradient).mul(&factor)?)?;
                }
            }
            Clip::GlobalNorm(_) => {
                let Some((first, gradient)) = pairs.first() else { return Ok(()) };
                let (first, dtype) = (&first.variable, gradient.dtype());
                let mut all: Option<Tensor> = None;
                for (weight, gradient) in &pairs {
                    let squares = {
                        let _there = weight.variable.device_scope();
                        numbers(gradient).square()?.sum(&[])?.cast(dtype)?
                    };
                    let _there = first.device_scope();
                    all = Some(match all {
                        None => squares,
                        Some(sum) => sum.add(&squares)?,
                    });
                }
                let Some(all) = all else { return Ok(()) };
                let factor = {
                    let _there = first.device_scope();
                    factor(&all, limit)?
                };
                for (weight, gradient) in &mut pairs {
                    let _there = weight.variable.device_scope();
                    let scaled = numbers(gradient).mul(&factor.cast(gradient.dtype())?)?;
                    **gradient = with_numbers(gradient, &scaled)?;
                }
            }
        }
        Ok(())
    }
}

/// What gradients with that sum of squares are multiplied by: exactly 1 within the limit.
fn factor(squares: &Tensor, limit: f64) -> Result<Tensor> {
    let norm = squares.sqrt()?.clip(limit, f64::from(f32::MAX))?;
    (&norm / limit)?.reciprocal()
}

/// A gradient as it can be clipped: rows of one index are added up first, because clipping is of their sum.
fn summed(gradient: &Tensor, keep_rows: bool) -> Result<Tensor> {
    match gradient.rows() {
        Some(rows) if keep_rows || rows.is_few() => rows.merged()?.to_tensor(),
        Some(rows) => rows.to_dense(),
        None => Ok(gradient.clone()),
    }
}

/// What of a gradient may not be zero.
fn numbers(gradient: &Tensor) -> Tensor {
    gradient.rows().map_or_else(|| gradient.clone(), |rows| rows.values().clone())
}

/// A gradient with these in the places of [`numbers`].
fn with_numbers(gradient: &Tensor, numbers: &Tensor) -> Result<Tensor> {
    match gradient.rows() {
        Some(rows) => rows.with_values(numbers)?.to_tensor(),
        None => Ok(numbers.clone()),
    }
}
