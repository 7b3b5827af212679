//! The weights of layers that multiply, add and activate: what is wanted of them, and they themselves once
//! they are made.

use crate::{Activation, Fans, Identity, Initializer, Maker, Penalty, Recipe, Weight};
use situ_core::{Result, Shape};

/// A kernel, a bias unless there is to be none, and the function behind them.
#[derive(Debug)]
pub(super) struct KernelAndBias {
    pub(super) activation: Activation,
    pub(super) use_bias: bool,
    pub(super) kernel_initializer: Initializer,
    pub(super) bias_initializer: Initializer,
    pub(super) kernel_penalty: Penalty,
    pub(super) bias_penalty: Penalty,
    pub(super) kernel: Option<Weight>,
    pub(super) bias: Option<Weight>,
}

impl Default for KernelAndBias {
    /// A kernel by Glorot, a bias of zeros, no activation.
    fn default() -> KernelAndBias {
        KernelAndBias {
            activation: Activation::Linear,
            use_bias: true,
            kernel_initializer: Initializer::GlorotUniform,
            bias_initializer: Initializer::Zeros,
            kernel_penalty: Penalty::default(),
            bias_penalty: Penalty::default(),
            kernel: None,
            bias: None,
        }
    }
}

impl KernelAndBias {
    /// Makes both. The bias has a number for each of `outputs`.
    pub(super) fn make(
        &mut self,
        maker: &mut Maker,
        kernel: &Shape,
        fans: Fans,
        outputs: usize,
    ) -> Result<()> {
        let recipe = Recipe::new("kernel", kernel.dims(), self.kernel_initializer)?;
        maker.make(&mut self.kernel, &Recipe { fans, penalty: self.kernel_penalty, ..recipe })?;
        if self.use_bias {
            let recipe = Recipe::new("bias", &[outputs], self.bias_initializer)?;
            maker.make(&mut self.bias, &Recipe { penalty: self.bias_penalty, ..recipe })?;
        }
        Ok(())
    }

    pub(super) fn held(&self, identity: &Identity) -> Vec<Weight> {
        identity.held(self.kernel.iter().chain(&self.bias).cloned())
    }
}
