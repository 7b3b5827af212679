//! An optimizer at work on weights: their state, and the clock by which steps are counted.

use super::{Clip, Decays, Optimizer, Schedule, UpdateRule};
use crate::Weight;
use situ_core::{Caller, DType, Error, Location, Result};
use situ_tensor::scope::line_scope;
use situ_tensor::{Tensor, Variable, constant, full, name_scope, zeros};
use std::sync::Arc;

/// An optimizer with the state of its weights.
///
/// A step has a part on the devices, [`Stepper::apply`], which may be inside a function, and a part on the
/// host, which [`Stepper::before`] and [`Stepper::after`] are. [`Stepper::step`] is all of them, for loops
/// that are not compiled.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_nn::optimizers::{Optimizer, Sgd};
/// use situ_nn::{Penalty, Weight};
/// use situ_tensor::{Tape, Variable, tensor};
/// let w = Variable::new(&tensor([3.0f32, -2.0])?)?;
/// let penalty = Penalty::default();
/// let weight = Weight { name: "w".into(), variable: w.clone(), trainable: true, penalty };
/// let mut stepper = Optimizer::from(Sgd::new(0.1)).bind(&[weight])?;
/// for _ in 0..50 {
///     let tape = Tape::new();
///     let loss = w.value().square()?.sum(&[])?;
///     stepper.step(&tape.gradients(&loss, [&w])?)?;
/// }
/// assert!(w.value().to_vec::<f32>()?.iter().all(|w| w.abs() < 1e-3));
/// assert_eq!(stepper.steps(), 50);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Stepper {
    bound: Arc<Bound>,
    rate: Schedule,
    /// Whether the schedule was set, and is not the optimizer's own.
    set: bool,
    steps: u64,
    /// The rate that the clocks have.
    shown: f64,
}

/// The part of a stepper that a compiled step holds on to.
#[derive(Debug)]
pub(crate) struct Bound {
    weights: Vec<Weight>,
    state: Vec<Vec<Variable>>,
    names: Vec<&'static str>,
    clocks: Vec<Clock>,
    /// Which clock each weight goes by.
    clock_of: Vec<usize>,
    rule: Arc<dyn UpdateRule>,
    /// The rule of each weight that does not decay, where not all do.
    undecayed: Vec<Option<Arc<dyn UpdateRule>>>,
    clip: Clip,
}

/// The learning rate and the number of steps so far, on one device and of one dtype: what `Update` takes. The
/// host knows both; it writes them only when the rate changes, so that a step brings nothing to the device.
#[derive(Debug)]
struct Clock {
    rates: Variable,
    /// What a step adds.
    tick: Tensor,
}

/// Two numbers of a float dtype.
fn pair(dtype: DType, numbers: [f64; 2]) -> Result<Tensor> {
    match dtype {
        DType::F64 => constant(&numbers, &[2]),
        _ => constant(&numbers.map(|n| n as f32), &[2])?.cast(dtype),
    }
}

/// The dtype of the clock of such weights: floats of 16 bits can't count steps.
fn clock_dtype(weights: DType) -> DType {
    if weights.is_half() { DType::F32 } else { weights }
}

impl Clock {
    fn new(like: &Variable) -> Result<Clock> {
        let dtype = clock_dtype(like.dtype());
        let rates = like.new_beside(|| zeros(&[2], dtype))?;
        let _there = like.device_scope();
        Ok(Clock { rates, tick: pair(dtype, [0.0, 1.0])? })
    }

    fn fits(&self, weight: &Variable) -> bool {
        self.rates.device() == weight.device() && self.rates.dtype() == clock_dtype(weight.dtype())
    }

    fn set(&self, rate: f64, steps: u64) -> Result<()> {
        let _there = self.rates.device_scope();
        self.rates.assign(&pair(self.rates.dtype(), [rate, steps as f64])?)
    }
}

/// For each weight that does not decay the rule without decay; an empty list where all do.
fn undecayed(optimizer: &Optimizer, weights: &[Weight]) -> Result<Vec<Option<Arc<dyn UpdateRule>>>> {
    let Some(Decays(decays)) = &optimizer.decays else { return Ok(Vec::new()) };
    let Some(plain) = optimizer.rule.without_decay() else {
        return Err(Error::argument(
            "decay_only",
            format!("the rule {} has no weight decay that could be left out", optimizer.rule.name()),
            "implement UpdateRule::without_decay for it",
        ));
    };
    let decays = |weight: &Weight| decays(&weight.name, weight.variable.shape());
    Ok(weights.iter().map(|weight| (!decays(weight)).then(|| plain.clone())).collect())
}

impl Stepper {
    pub(super) fn new(optimizer: &Optimizer, weights: &[Weight]) -> Result<Stepper> {
        let weights: Vec<Weight> = weights.iter().filter(|w| w.trainable).cloned().collect();
        let kinds = optimizer.rule.state();
        let (mut clocks, mut clock_of, mut state): (Vec<Clock>, _, _) = (vec![], vec![], vec![]);
        for weight in &weights {
            let variable = &weight.variable;
            if !variable.dtype().is_float() {
                return Err(Error::operands(
                    "optimizer",
                    &[variable.tensor_type()],
                    format!("the weight {} has no gradient: it is not a float", weight.name),
                    "mark it as not trainable",
                ));
            }
            let known = clocks.iter().position(|c| c.fits(variable));
            clock_of.push(match known {
                Some(clock) => clock,
                None => {
                    clocks.push(Clock::new(variable)?);
                    clocks.len() - 1
                }
            });
            let dims = variable.shape().dims();
            let made = kinds.iter().map(|kind| {
                variable.new_beside(|| match variable.dtype() {
                    DType::F64 => full(dims, kind.initial),
                    dtype => full(dims, kind.initial as f32)?.cast(dtype),
                })
            });
            state.push(made.collect::<Result<Vec<_>>>()?);
        }
        let undecayed = undecayed(optimizer, &weights)?;
        let bound = Bound {
            weights,
            undecayed,
            state,
            names: kinds.iter().map(|kind| kind.name).collect(),
            clocks,
            clock_of,
            rule: optimizer.rule.clone(),
            clip: optimizer.clip,
        };
        Ok(Stepper {
            bound: Arc::new(bound),
            rate: optimizer.rate.clone(),
            set: false,
            steps: 0,
            shown: f64::NAN,
        })
    }

    /// The weights it changes.
    pub fn weights(&self) -> &[Weight] {
        &self.bound.weights
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The learning rate of a step, by the schedule as it is now.
    pub fn rate_of(&self, step: u64) -> f64 {
        self.rate.at(step)
    }

    /// The learning rate of the next step.
    pub fn rate(&self) -> f64 {
        self.rate.at(self.steps)
    }

    /// Another schedule from the next step on. Its steps are counted from the first step of all.
    pub fn set_rate(&mut self, rate: impl Into<Schedule>) {
        self.rate = rate.into();
        self.set = true;
    }

    /// The schedule of the learning rate as it is now.
    pub fn schedule(&self) -> &Schedule {
        &self.rate
    }

    /// The schedule, if it was set by [`Stepper::set_rate`]: the optimizer's own comes with the optimizer.
    pub(crate) fn set_schedule(&self) -> Option<&Schedule> {
        self.set.then_some(&self.rate)
    }

    /// Changes the weights by these gradients, one for each of [`Stepper::weights`]; a weight without one
    /// stays as it is.
    #[track_caller]
    pub fn apply(&self, gradients: &[Option<Tensor>]) -> Result<()> {
        self.bound.apply(gradients, Location::here())
    }

    /// [`Stepper::apply`] as a closure, for a function to hold on to while the stepper counts outside of it.
    ///
    /// ```
    /// # fn main() -> situ_core::Result<()> {
    /// use situ_nn::optimizers::{Optimizer, Sgd};
    /// use situ_nn::{Dense, Layer, Maker, Model, Pass};
    /// use situ_tensor::{Function, Tape, tensor};
    /// let model = Dense::new(1).built(&[2], &mut Maker::new(1))?;
    /// let mut stepper = Optimizer::from(Sgd::new(0.01)).bind(&model.weights())?;
    /// let (update, weights) = (stepper.updater(), model.weights());
    /// let step = Function::new(move |x| {
    ///     let tape = Tape::new();
    ///     let loss = model.forward(x, &Pass::training(1, None))?.square()?.mean(&[])?;
    ///     update(&tape.gradients(&loss, weights.iter().map(|w| &w.variable))?)?;
    ///     Ok(loss)
    /// });
    /// let x = tensor([[1.0f32, 2.0], [3.0, 4.0]])?;
    /// let mut losses = Vec::new();
    /// for _ in 0..20 {
    ///     stepper.before()?;
    ///     losses.push(step.call(&x)?.item::<f32>()?);
    ///     stepper.after();
    /// }
    /// assert!(losses[19] < losses[0]);
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn updater(&self) -> impl Fn(&[Option<Tensor>]) -> Result<()> + Send + Sync + use<> {
        let (bound, line) = (self.bound.clone(), Location::here());
        move |gradients| bound.apply(gradients, line)
    }

    /// Before a step: its learning rate goes to the devices, if it differs from the last one.
    #[inline]
    #[track_caller]
    pub fn before(&mut self) -> Result<()> {
        self.before_for(Caller::here())
    }

    /// The same, for a line of the program.
    #[inline]
    pub(crate) fn before_for(&mut self, caller: Caller) -> Result<()> {
        let rate = self.rate.at(self.steps);
        if rate != self.shown {
            self.show(rate, caller)?;
        }
        Ok(())
    }

    #[cold]
    fn show(&mut self, rate: f64, caller: Caller) -> Result<()> {
        let _line = line_scope(caller.location());
        if !rate.is_finite() {
            return Err(Error::argument(
                "optimizer",
                format!("the learning rate of step {} is {rate} by {:?}", self.steps, self.rate),
                "use a schedule of finite numbers",
            ));
        }
        for clock in &self.bound.clocks {
            clock.set(rate, self.steps)?;
        }
        self.shown = rate;
        Ok(())
    }

    /// After a step.
    #[inline]
    pub fn after(&mut self) {
        self.steps += 1;
    }

    /// One step, outside of functions.
    #[track_caller]
    pub fn step(&mut self, gradients: &[Option<Tensor>]) -> Result<()> {
        self.before()?;
        if let Err(error) = self.apply(gradients) {
            // The clocks may have counted a step that was none: they are written before the next one.
            self.shown = f64::NAN;
            return Err(error);
        }
        self.after();
        Ok(())
    }

    pub(crate) fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    /// Goes on as if so many steps had been made.
    pub(crate) fn resume_at(&mut self, steps: u64) {
        self.steps = steps;
        // The clocks are written before the next step, whatever they show.
        self.shown = f64::NAN;
    }
}

impl Bound {
    pub(crate) fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// The name of the rule.
    pub(crate) fn rule(&self) -> &'static str {
        self.rule.name()
    }

    /// The tensors of state: the weight's name, the state's, and the variable.
    pub(crate) fn state(&self) -> impl Iterator<Item = (&str, &'static str, &Variable)> {
        self.weights.iter().zip(&self.state).flat_map(|(weight, state)| {
            state.iter().zip(&self.names).map(|(variable, name)| (weight.name.as_str(), *name, variable))
        })
    }

    /// The rule of a weight.
    fn rule_of(&self, number: usize) -> &Arc<dyn UpdateRule> {
        self.undecayed.get(number).and_then(Option::as_ref).unwrap_or(&self.rule)
    }

    /// Changes the weights. The ops are said to be of `line`, but for those of a rule that the program wrote.
    pub(crate) fn apply(&self, gradients: &[Option<Tensor>], line: Location) -> Result<()> {
        if gradients.len() != self.weights.len() {
            return Err(Error::argument(
                "optimizer",
                format!("{} gradients for {} weights", gradients.len(), self.weights.len()),
                "give one for each of Stepper::weights, None where there is none",
            ));
        }
        // Bad data in one of them is to be known before the first weight has changed.
        gradients.iter().flatten().try_for_each(Tensor::verify)?;
        // Profiles show what changes a weight as `update/dense/kernel`, in the row of its layer.
        let _name = name_scope("update");
        let mut gradients = gradients.to_vec();
        {
            let _line = line_scope(line);
            self.clip.apply(&self.weights, &mut gradients, |number| self.rule_of(number).is_lazy())?;
            for clock in &self.clocks {
                let _name = name_scope("rates");
                clock.rates.assign_add(&clock.tick)?;
            }
        }
        let _line = (!self.rule.has_lines()).then(|| line_scope(line));
        for (number, (weight, gradient)) in self.weights.iter().zip(&gradients).enumerate() {
            let Some(gradient) = gradient else { continue };
            let state: Vec<&Variable> = self.state[number].iter().collect();
            let rates = self.clocks[self.clock_of[number]].rates.value();
            let (_name, _there) = (name_scope(&weight.name), weight.variable.device_scope());
            self.rule_of(number).step(&weight.variable, gradient, &rates, &state)?;
        }
        Ok(())
    }
}
