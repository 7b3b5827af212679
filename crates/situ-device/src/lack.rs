//! Why a device can't run an op: as data, since a lack is normal and is asked about before every launch.

use situ_core::TensorType;
use situ_core::reason::Excess;

/// Why a device has no kernel for an op on certain types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// It has none for this op and dtype, whatever the size.
    Kernel,
    /// It has one, but not for operands of this size.
    TooLarge(Excess),
}

impl Lack {
    /// A lack for size: `what` says what is counted and in what, as `elements in one row`.
    pub fn too_large(what: &'static str, needs: usize, limit: usize) -> Lack {
        Lack::TooLarge(Excess::new(what, needs as u64, limit as u64))
    }
}

/// What one launch on a device can have at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Bytes of one input, of one output, and of the workspace: each lies in one block.
    pub bytes: usize,
    /// Elements of one input or output. A view that repeats elements has more of them than its memory.
    pub elements: usize,
}

impl Sizes {
    /// Whether operands of these types keep within the sizes. All inputs count as if they were dense: a
    /// kernel may ask for that, and a tensor of any layout must be able to take the place of another.
    #[inline]
    pub fn hold(
        &self,
        inputs: &[TensorType],
        outputs: &[TensorType],
        workspace: usize,
    ) -> std::result::Result<(), Lack> {
        let of = |types: &[TensorType], bytes: &'static str, elements: &'static str| {
            for ty in types {
                if ty.bytes() > self.bytes {
                    return Err(Lack::too_large(bytes, ty.bytes(), self.bytes));
                }
                if ty.shape.elements() > self.elements {
                    return Err(Lack::too_large(elements, ty.shape.elements(), self.elements));
                }
            }
            Ok(())
        };
        of(inputs, "bytes in one input", "elements in one input")?;
        of(outputs, "bytes in one output", "elements in one output")?;
        if workspace > self.bytes {
            return Err(Lack::too_large("bytes of workspace", workspace, self.bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_core::{DType, Shape};

    #[test]
    fn each_operand_and_the_workspace_are_held_against_the_sizes() {
        let sizes = Sizes { bytes: 4096, elements: 2000 };
        let ty = |dtype, n| [TensorType::new(dtype, Shape::new(&[n]).unwrap())];
        let (fits, large) = (ty(DType::F32, 1024), ty(DType::F32, 1025));
        assert_eq!(sizes.hold(&fits, &fits, 4096), Ok(()));
        assert_eq!(sizes.hold(&large, &fits, 0), Err(Lack::too_large("bytes in one input", 4100, 4096)));
        assert_eq!(sizes.hold(&fits, &large, 0), Err(Lack::too_large("bytes in one output", 4100, 4096)));
        assert_eq!(sizes.hold(&fits, &fits, 4097), Err(Lack::too_large("bytes of workspace", 4097, 4096)));
        let many = ty(DType::Bool, 2001);
        assert_eq!(sizes.hold(&many, &fits, 0), Err(Lack::too_large("elements in one input", 2001, 2000)));
    }
}
