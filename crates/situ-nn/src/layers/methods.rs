//! Methods that layers share: each has them as its own, so that they are found where the layer is, and no
//! trait must be in scope.

/// A name, for a layer that has an `identity`.
macro_rules! named {
    ($layer:ident) => {
        impl $layer {
            /// With a name.
            pub fn named(self, name: impl Into<String>) -> $layer {
                $layer { identity: self.identity.named(name), ..self }
            }
        }
    };
}

/// A name, and freezing, for a layer that has an `identity` and weights.
macro_rules! named_and_trainable {
    ($layer:ident) => {
        named!($layer);

        impl $layer {
            /// Frozen if `false`: its weights stay as they are in training, and no gradient by them is
            /// computed.
            pub fn trainable(self, trainable: bool) -> $layer {
                $layer { identity: self.identity.trainable(trainable), ..self }
            }
        }
    };
}

/// What can be said of a kernel, a bias and an activation, for a layer that has `weights` of
/// [`KernelAndBias`](super::kernel_and_bias).
macro_rules! with_kernel_and_bias {
    ($layer:ident) => {
        named_and_trainable!($layer);

        impl $layer {
            /// With a function applied to its result.
            pub fn activation(mut self, activation: Activation) -> $layer {
                self.weights.activation = activation;
                self
            }

            /// With a bias, or without.
            pub fn use_bias(mut self, use_bias: bool) -> $layer {
                self.weights.use_bias = use_bias;
                self
            }

            /// How the kernel begins.
            pub fn kernel_initializer(mut self, initializer: Initializer) -> $layer {
                self.weights.kernel_initializer = initializer;
                self
            }

            /// How the bias begins.
            pub fn bias_initializer(mut self, initializer: Initializer) -> $layer {
                self.weights.bias_initializer = initializer;
                self
            }

            /// What the loss adds for the kernel.
            pub fn kernel_penalty(mut self, penalty: Penalty) -> $layer {
                self.weights.kernel_penalty = penalty;
                self
            }

            /// What the loss adds for the bias.
            pub fn bias_penalty(mut self, penalty: Penalty) -> $layer {
                self.weights.bias_penalty = penalty;
                self
            }
        }
    };
}

/// What can be said of scale and shift, for a layer that has `weights` of
/// [`ScaleAndShift`](super::scale_and_shift).
macro_rules! with_scale_and_shift {
    ($layer:ident) => {
        named_and_trainable!($layer);

        impl $layer {
            /// What is added to the variance.
            pub fn epsilon(self, epsilon: f64) -> $layer {
                $layer { epsilon, ..self }
            }

            /// With a scale that is learned, or without: a layer behind it that multiplies can do that as
            /// well.
            pub fn scale(mut self, scale: bool) -> $layer {
                self.weights.use_scale = scale;
                self
            }

            /// With a shift that is learned, or without.
            pub fn center(mut self, center: bool) -> $layer {
                self.weights.use_shift = center;
                self
            }
        }
    };
}
