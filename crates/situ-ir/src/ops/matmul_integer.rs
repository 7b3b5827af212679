//! Matrix products of bytes, summed in 32 bits.

use super::{Attributes, Given, Matmul, Rule, arity};
use crate::gradient::Differentiability;
use crate::work::{Work, WorkClass};
use situ_core::{DType, Error, Result, TensorType};

/// The product of two sides of i8 or u8, each its own, as i32: what quantised layers compute. A
/// [`Matmul`] of bytes gives bytes, which wrap.
///
/// Sums wrap beyond 32 bits, which takes 33,026 products of the largest bytes. Zero points are not taken yet:
/// they would be two more inputs, one number for the left side or one for each row of it, and one for the
/// right side or one for each column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MatmulInteger {
    /// How the sides are read.
    pub matmul: Matmul,
}

impl Rule for MatmulInteger {
    const NAMES: &'static [&'static str] = &["matmul_integer"];

    fn attributes(&self) -> Attributes {
        self.matmul.attributes()
    }

    fn read(_: &str, given: &mut Given) -> Result<MatmulInteger> {
        Ok(MatmulInteger { matmul: Matmul::read("matmul", given)? })
    }

    fn infer(&self, inputs: &[TensorType]) -> Result<TensorType> {
        arity("matmul_integer", inputs, 2)?;
        if inputs.iter().any(|side| !matches!(side.dtype, DType::I8 | DType::U8)) {
            return Err(Error::operands(
                "matmul_integer",
                inputs,
                "is defined for i8 and u8",
                "use matmul, or cast both sides to i8 or u8",
            ));
        }
        // Which of the two a side is makes no difference to shapes.
        let alike = [inputs[0], inputs[1]].map(|side| TensorType { dtype: DType::I8, ..side });
        Ok(TensorType { dtype: DType::I32, ..self.matmul.infer(&alike)? })
    }

    fn work(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Work {
        let k = self.matmul.dims(inputs).map_or(0, |d| d.k);
        // Bytes are what is multiplied; a product in i32 takes longer.
        let dtype = inputs.first().map_or(DType::I8, |side| side.dtype);
        Work { dtype, ..Work::streaming(WorkClass::Matmul, 2.0 * k as f64, inputs, outputs) }
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn differentiability(&self) -> Differentiability {
        Differentiability::Flat
    }
}
