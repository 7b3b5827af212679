//! What a layer is called, and where it was made.

use crate::{Maker, Site, Weight};
use situ_core::{Error, Result, TensorType};
use situ_tensor::scope::current_request;
use situ_tensor::{ScopeGuard, Tensor, name_scope};

/// The name of a layer in its model, and the device scope in which it was made. Layers of one's own hold one,
/// too: made in the constructor, given its path in `build`, entered in `forward`.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_core::{Result, Shape};
/// use situ_nn::{Identity, Layer, Maker, Model, Pass, Weight};
/// use situ_tensor::Tensor;
///
/// #[derive(Debug)]
/// struct Double(Identity);
///
/// impl Model for Double {
///     fn forward(&self, input: &Tensor, _: &Pass) -> Result<Tensor> {
///         let _here = self.0.enter();
///         input * 2.0
///     }
///     fn weights(&self) -> Vec<Weight> {
///         Vec::new()
///     }
/// }
///
/// impl Layer for Double {
///     fn kind(&self) -> &'static str {
///         "Double"
///     }
///     fn identity(&self) -> Option<&Identity> {
///         Some(&self.0)
///     }
///     fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
///         self.0.build(maker);
///         Ok(*input)
///     }
/// }
///
/// let double = Double(Identity::here()).built(&[2], &mut Maker::new(0))?;
/// assert_eq!(double.identity().unwrap().path(), "double");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Identity {
    given: Option<String>,
    path: String,
    site: Site,
    frozen: bool,
}

/// The end of a layer's scope: it lasts until this is dropped.
#[must_use = "a scope ends when its guard is dropped: bind it to a name"]
#[derive(Debug)]
pub struct Entered(
    #[expect(dead_code, reason = "it is dropped")] Option<ScopeGuard>,
    #[expect(dead_code, reason = "it is dropped")] Option<ScopeGuard>,
    #[expect(dead_code, reason = "it is dropped")] Option<ScopeGuard>,
);

impl Identity {
    /// Without a name, in the scopes around this call.
    pub fn here() -> Identity {
        Identity { site: Site::here(), ..Identity::default() }
    }

    /// The same for layers that this crate has: their ops are said to be of the line that made the layer.
    #[track_caller]
    pub(crate) fn of_caller() -> Identity {
        Identity { site: Site::of_caller(), ..Identity::default() }
    }

    /// The same with a name, which must be the only one of its kind in the model.
    pub fn named(self, name: impl Into<String>) -> Identity {
        Identity { given: Some(name.into()), ..self }
    }

    /// The same, frozen or not: the weights of a frozen layer stay as they are in training.
    pub fn trainable(self, trainable: bool) -> Identity {
        Identity { frozen: !trainable, ..self }
    }

    /// Freezes the layer, or lets it learn again.
    pub fn set_trainable(&mut self, trainable: bool) {
        self.frozen = !trainable;
    }

    /// Whether training may change the layer's weights.
    pub fn is_trainable(&self) -> bool {
        !self.frozen
    }

    /// What [`Model::weights`](crate::Model::weights) gives for these weights: none of them is trainable
    /// while the layer is frozen.
    pub fn held(&self, weights: impl IntoIterator<Item = Weight>) -> Vec<Weight> {
        let held = |weight: Weight| Weight { trainable: weight.trainable && !self.frozen, ..weight };
        weights.into_iter().map(held).collect()
    }

    /// The name that it was given, if it was.
    pub fn given(&self) -> Option<&str> {
        self.given.as_deref()
    }

    /// Its name in its model, below those of the layers around it: `block/dense_1`. Empty until it is built.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where it was made.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Takes the name that the maker has for the layer, and opens the scope in which its weights are made.
    pub fn build(&mut self, maker: &Maker) -> ScopeGuard {
        self.take_path(maker);
        self.site.enter()
    }

    /// Takes the name that the maker has for the layer: for layers of layers, whose parts have scopes of
    /// their own.
    pub fn take_path(&mut self, maker: &Maker) {
        maker.path().clone_into(&mut self.path);
    }

    /// Opens the scope in which its ops run, with its name before theirs.
    pub fn enter(&self) -> Entered {
        let site = if self.site.is_free() { None } else { Some(self.site.enter()) };
        Entered(site, self.site.enter_line(), self.enter_name())
    }

    /// Opens a scope with its name alone, below those of the layers around it that have not opened theirs:
    /// for layers of layers, whose parts have devices of their own.
    pub fn enter_name(&self) -> Option<ScopeGuard> {
        if self.path.is_empty() {
            return None;
        }
        let request = current_request();
        Some(name_scope(within(request.name.path().unwrap_or_default(), &self.path)))
    }

    /// Its path, or else its name, for messages.
    fn label(&self) -> &str {
        match (&self.given, self.path.as_str()) {
            (Some(name), "") => name,
            (None, "") => "without a name",
            (_, path) => path,
        }
    }

    /// An input that the layer can't take: `kind` is what it is, `wants` what it would take.
    #[cold]
    pub fn refuse(&self, kind: &'static str, input: TensorType, wants: &str, help: &str) -> Error {
        Error::operands(kind, &[input], format!("the layer {} takes {wants}", self.label()), help)
    }

    /// An argument of the layer that is wrong in itself.
    #[cold]
    pub fn reject(&self, kind: &'static str, why: &str, help: &str) -> Error {
        Error::argument(kind, format!("the layer {}: {why}", self.label()), help)
    }

    /// The error of an op of this layer, with the layer's name.
    #[cold]
    pub fn blame(&self, error: Error) -> Error {
        let said = |why: String| format!("in the layer {}: {why}", self.label());
        match error {
            Error::Operands(mut error) => {
                error.why = said(error.why);
                Error::Operands(error)
            }
            Error::Argument(mut error) => {
                error.why = said(error.why);
                Error::Argument(error)
            }
            other => other,
        }
    }

    /// The value of a weight; an error that says to build the layer where it has none yet.
    pub fn value(&self, kind: &'static str, weight: &Option<Weight>) -> Result<Tensor> {
        match weight {
            Some(weight) => Ok(weight.variable.value()),
            None => Err(self.reject(
                kind,
                "it has no weights yet",
                "make it with built(..), build the Sequential that it is in, or let fit do so",
            )),
        }
    }
}

/// What is left of a layer's path inside of scopes with these names: without the most of its first names that
/// the scopes end with. Its last name always is.
fn within<'p>(around: &str, path: &'p str) -> &'p str {
    let ends = path.rmatch_indices('/').map(|(at, _)| at);
    let ends_with = |names: &str| {
        around.strip_suffix(names).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    ends.into_iter().find(|&at| ends_with(&path[..at])).map_or(path, |at| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn names_that_are_around_already_are_not_said_again() {
        for (around, path, left) in [
            ("", "dense", "dense"),
            ("", "block/dense", "block/dense"),
            ("block", "block/dense", "dense"),
            ("my/block", "block/dense", "dense"),
            ("big_block", "block/dense", "block/dense"),
            ("a", "a/b/dense", "b/dense"),
            ("a/b", "a/b/dense", "dense"),
            ("b", "a/b/dense", "a/b/dense"),
            ("a", "a/a/dense", "a/dense"),
            ("a/a", "a/a/dense", "dense"),
            ("dense", "dense", "dense"),
        ] {
            assert_eq!(within(around, path), left, "{path} within {around}");
        }
    }
}
