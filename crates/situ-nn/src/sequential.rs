//! Layers one after the other.

use crate::layer::batch_of;
use crate::{Identity, Layer, Maker, Model, Pass, Weight};
use situ_core::{Error, Result, Shape};
use situ_tensor::Tensor;

/// A model that gives each layer's result to the next. It is a layer itself, so that they nest.
///
/// Its layers keep to the scopes in which they were made, and not to the one in which it was put together.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::{Activation, Dense, Layer, Maker, Model, Pass, Sequential};
/// let model = Sequential::new()
///     .add(Dense::new(128).activation(Activation::Relu))
///     .add(Dense::new(10))
///     .built(&[784], &mut Maker::new(42))?;
/// let logits = model.forward(&situ_tensor::zeros(&[32, 784], situ_core::DType::F32)?, &Pass::inference())?;
/// assert_eq!(logits.shape().dims(), [32, 10]);
/// assert_eq!(model.weights()[2].name, "dense_1/kernel");
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct Sequential {
    identity: Identity,
    entries: Vec<Entry>,
    seed: u64,
    input: Option<Shape>,
    /// Weights that were made before making another one failed: they do not count.
    undone: Vec<String>,
}

/// A layer, and what is known of it once it is built.
#[derive(Debug)]
struct Entry {
    layer: Box<dyn Layer>,
    name: String,
    output: Option<Shape>,
}

impl Sequential {
    /// A model without layers, to add some to.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// With one more layer at the end. Layers that have weights keep them; the new one gets its own when the
    /// model is built again.
    #[expect(
        clippy::should_implement_trait,
        reason = "it adds a layer, as in other libraries, and no number"
    )]
    pub fn add(mut self, layer: impl Layer + 'static) -> Sequential {
        self.entries.push(Entry { layer: Box::new(layer), name: String::new(), output: None });
        self.input = None;
        self
    }

    /// The seed of the weights, where they are made by training, for the first batch; 0 if it is not set.
    pub fn seed(self, seed: u64) -> Sequential {
        Sequential { seed, ..self }
    }

    /// With a name, which stands before its layers' where it is part of another model.
    pub fn named(self, name: impl Into<String>) -> Sequential {
        Sequential { identity: self.identity.named(name), ..self }
    }

    /// Frozen if `false`: the weights of its layers stay as they are in training.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::{Activation, Dense, Layer, Maker, Sequential};
    /// let trunk = Sequential::new().add(Dense::new(64).activation(Activation::Relu)).named("trunk");
    /// let mut model =
    ///     Sequential::new().add(trunk.trainable(false)).add(Dense::new(2)).built(&[8], &mut Maker::new(1))?;
    /// assert_eq!(model.summary().trainable(), 64 * 2 + 2);
    /// // Later, for a few more epochs with all of it:
    /// model.set_trainable("trunk", true)?;
    /// assert_eq!(model.summary().trainable(), model.summary().parameters());
    /// # Ok(()) }
    /// ```
    pub fn trainable(self, trainable: bool) -> Sequential {
        Sequential { identity: self.identity.trainable(trainable), ..self }
    }

    /// Freezes one of its layers, or lets it learn again. What is compiled stays as it was: compile the model
    /// anew.
    pub fn set_trainable(&mut self, layer: &str, trainable: bool) -> Result<()> {
        let called = |entry: &Entry| {
            let given = entry.layer.identity().and_then(Identity::given);
            entry.name == layer || given == Some(layer)
        };
        if let Some(entry) = self.entries.iter_mut().find(|entry| called(entry)) {
            if let Some(identity) = entry.layer.identity_mut() {
                identity.set_trainable(trainable);
                return Ok(());
            }
            if entry.layer.weights().is_empty() {
                return Ok(());
            }
            return Err(Error::argument(
                "set_trainable",
                format!("the layer {layer} gives no Identity to change"),
                "let its Layer::identity_mut give one, and its weights go through Identity::held",
            ));
        }
        let names: Vec<&str> = self.layers().map(|(name, _)| name).filter(|name| !name.is_empty()).collect();
        Err(Error::argument(
            "set_trainable",
            format!("there is no layer {layer}: there are {}", names.join(", ")),
            "name one of them; layers without a name of their own get one when the model is built",
        ))
    }

    /// Whether its layers have their weights.
    pub fn is_built(&self) -> bool {
        self.input.is_some()
    }

    /// The shape that it was built for, the first size of which is a batch.
    pub fn input_shape(&self) -> Option<&Shape> {
        self.input.as_ref()
    }

    /// The result of its layers, under no name of its own.
    pub(crate) fn run(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut value = input.clone();
        for entry in &self.entries {
            value = entry.layer.forward(&value, pass)?;
        }
        Ok(value)
    }

    /// Its layers in order, with their names and the shapes of what they give, where these are known.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&str, &dyn Layer, Option<&Shape>)> {
        self.entries.iter().map(|entry| (entry.name.as_str(), &*entry.layer, entry.output.as_ref()))
    }

    /// Its layers in order, with their names.
    pub fn layers(&self) -> impl Iterator<Item = (&str, &dyn Layer)> {
        self.entries.iter().map(|entry| (entry.name.as_str(), &*entry.layer))
    }
}

impl FromIterator<Box<dyn Layer>> for Sequential {
    fn from_iter<I: IntoIterator<Item = Box<dyn Layer>>>(layers: I) -> Sequential {
        let entry = |layer| Entry { layer, name: String::new(), output: None };
        Sequential { entries: layers.into_iter().map(entry).collect(), ..Sequential::default() }
    }
}

impl Model for Sequential {
    fn forward(&self, input: &Tensor, pass: &Pass) -> Result<Tensor> {
        let _name = self.identity.enter_name();
        let _frozen = pass.through(&self.identity);
        self.run(input, pass)
    }

    fn weights(&self) -> Vec<Weight> {
        self.identity.held(self.entries.iter().flat_map(|entry| entry.layer.weights()))
    }

    fn prepare(&mut self, input: &Shape) -> Result<()> {
        if !self.is_built() {
            let mut maker = Maker::new(self.seed).after(std::mem::take(&mut self.undone));
            if let Err(error) = self.build(input, &mut maker) {
                self.undone = maker.into_made();
                return Err(error);
            }
        }
        Ok(())
    }
}

impl Layer for Sequential {
    fn kind(&self) -> &'static str {
        "Sequential"
    }

    fn identity(&self) -> Option<&Identity> {
        Some(&self.identity)
    }

    fn identity_mut(&mut self) -> Option<&mut Identity> {
        Some(&mut self.identity)
    }

    fn build(&mut self, input: &Shape, maker: &mut Maker) -> Result<Shape> {
        self.identity.take_path(maker);
        let mut shape = *input;
        for entry in &mut self.entries {
            let (name, output) = maker.build(&mut *entry.layer, &shape)?;
            shape = output;
            (entry.name, entry.output) = (name, Some(output));
        }
        self.input = Some(*input);
        Ok(shape)
    }

    /// As of every layer, but that its own name does not stand before its layers': it is the whole model.
    fn built(mut self, input: &[usize], maker: &mut Maker) -> Result<Self> {
        self.build(&batch_of(input)?, maker)?;
        Ok(self)
    }
}
