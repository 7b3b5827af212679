//! Functions: a closure traced once, compiled for each input signature, and then called without running the
//! closure again.

use crate::bucketed::Bucketed;
use crate::current::current_runtime;
use crate::scope::{around, enter};
use crate::tape::is_recording;
use crate::tensor::Tensor;
use crate::together;
use crate::trace::{self, Recorded, is_tracing};
use crate::variant::{Prepared, Variant, beyond, change, has_ranks};
use situ_core::{Caller, DeviceId, Error, Location, Request, Result, TensorType};
use situ_ir::Graph;
use situ_ir::passes::{Options, Report};
use situ_runtime::function::{
    Answer, Compiled, Event, Explanation, GraphFile, NodePlace, Outcome, PlanSummary, Profile, Program,
    SimilarVariant,
};
use situ_runtime::recording::{Entry, PlacedAgain, TracedAgain};
use situ_runtime::{DeviceTensor, Runtime};
use smallvec::SmallVec;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::time::Instant;

/// Traces beyond which a function says that it is traced again and again.
const MANY_TRACES: usize = 8;

/// Variants for other sizes that a new one is compared with.
const MOST_ALIKE: usize = 4;

type Body = dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync;

/// A compiled closure.
///
/// A call that fails changes no variable, on any device: where it assigns some, it waits for what its ops
/// have to say about their data (labels and indices in range, no integer divided by zero) before the first
/// one takes its value.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Function, tensor};
/// let squares = Function::new(|x| x.square()?.sum(&[]));
/// assert_eq!(squares.call(&tensor([1.0f32, 2.0, 3.0])?)?.item::<f32>()?, 14.0);
/// assert_eq!(squares.call(&tensor([4.0f32, 0.0, 0.0])?)?.item::<f32>()?, 16.0);
/// assert_eq!(squares.traces(), 1);
/// # Ok(()) }
/// ```
pub struct Function {
    /// What it is called in records: a name that it was given, or the line that made it.
    name: Arc<str>,
    body: Box<Body>,
    passes: Options,
    variants: RwLock<Vec<Arc<Variant>>>,
    /// Counts new variants: by it a variant knows when it was called last.
    age: AtomicU64,
    traces: AtomicUsize,
    buckets: Option<Bucketed>,
}

impl Function {
    /// A function of one tensor.
    #[track_caller]
    pub fn new(body: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Function {
        Function::many(move |inputs| match inputs {
            [x] => Ok(vec![body(x)?]),
            _ => Err(wrong_count(1, inputs.len())),
        })
    }

    /// A function of two tensors.
    #[track_caller]
    pub fn new2(body: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Function {
        Function::many(move |inputs| match inputs {
            [x, y] => Ok(vec![body(x, y)?]),
            _ => Err(wrong_count(2, inputs.len())),
        })
    }

    /// A function of any number of tensors, with any number of results.
    #[track_caller]
    pub fn many(body: impl Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync + 'static) -> Function {
        Function {
            name: format!("function at {}", Location::here()).into(),
            body: Box::new(body),
            passes: Options::default(),
            variants: RwLock::default(),
            age: AtomicU64::new(0),
            traces: AtomicUsize::new(0),
            buckets: None,
        }
    }

    /// The same function under a name, by which records and profiles call it; without one, it is the line
    /// that made it.
    ///
    /// ```
    /// let double = situ_tensor::Function::new(|x| x.add(x)).named("double");
    /// assert_eq!(double.name(), "double");
    /// ```
    pub fn named(self, name: &str) -> Function {
        Function { name: name.into(), ..self }
    }

    /// What it is called: its name, or the line that made it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same function without a pass of the compiler, by its name (`fuse`, `cse`, ..): to see what the
    /// pass brings. An error that lists the names where there is no such pass.
    pub fn without(self, pass: &str) -> Result<Function> {
        self.with_passes(|options| options.without(pass))
    }

    /// The same function with a pass of the compiler that is off because it rounds differently:
    /// `cross_entropy`, which makes one op of `Σ labels · log_softmax(logits)`.
    ///
    /// ```
    /// # use situ_tensor::Function;
    /// let loss = Function::new2(|x, y| x.log_softmax(-1)?.mul(y)?.sum(&[-1])?.neg());
    /// assert!(loss.with("cross_entropy").is_ok());
    /// ```
    pub fn with(self, pass: &str) -> Result<Function> {
        self.with_passes(|options| options.with(pass))
    }

    /// The same function, its graph run as it was traced.
    pub fn without_passes(self) -> Function {
        Function { passes: Options::nothing(), variants: RwLock::default(), ..self }
    }

    pub(crate) fn with_buckets(self, buckets: Bucketed) -> Function {
        Function { buckets: Some(buckets), ..self }
    }

    pub(crate) fn buckets(&self) -> Option<&Bucketed> {
        self.buckets.as_ref()
    }

    fn with_passes(self, change: impl FnOnce(Options) -> Result<Options>) -> Result<Function> {
        Ok(Function { passes: change(self.passes.clone())?, variants: RwLock::default(), ..self })
    }

    /// Calls a function of one tensor with one result.
    #[track_caller]
    pub fn call(&self, input: &Tensor) -> Result<Tensor> {
        one(self.call_many(&[input])?)
    }

    /// Calls a function of two tensors with one result.
    #[track_caller]
    pub fn call2(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        one(self.call_many(&[a, b])?)
    }

    /// Calls the function. Inside another function that is being traced, it becomes part of that one; while a
    /// tape runs, its closure runs op by op, so that the tape sees its ops. (To compile both, put the tape
    /// inside the function.)
    #[track_caller]
    pub fn call_many(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        if is_tracing() || is_recording() {
            let inputs: Vec<Tensor> = inputs.iter().map(|t| (*t).clone()).collect();
            return (self.body)(&inputs);
        }
        self.filled_up(inputs, |compiled, runtime, arguments, variables| {
            Ok((compiled.call(runtime, arguments, variables)?, ()))
        })
        .map(|(outputs, ())| outputs)
    }

    /// Calls the function and says what happened when: launches, copies and waits of every device.
    #[track_caller]
    pub fn call_recorded(&self, inputs: &[&Tensor]) -> Result<(Vec<Tensor>, Vec<Event>)> {
        self.filled_up(inputs, |compiled, runtime, arguments, variables| {
            compiled.call_recorded(runtime, arguments, variables)
        })
    }

    /// A call, with rows added and taken off again where its batch is in no bucket.
    #[track_caller]
    fn filled_up<T>(
        &self,
        inputs: &[&Tensor],
        call: impl Fn(&Compiled, &Runtime, &[&DeviceTensor], &[&DeviceTensor]) -> Result<(Outcome, T)>,
    ) -> Result<(Vec<Tensor>, T)> {
        if self.buckets.is_none() {
            return self.attempt(inputs, call);
        }
        let Some(padded) = self.padded(inputs, Caller::here())? else {
            return self.attempt(inputs, call);
        };
        let (outputs, extra) = self.attempt(&padded.inputs.iter().collect::<Vec<_>>(), call)?;
        Ok((padded.cut(outputs)?, extra))
    }

    /// A call. Where a device is lost in the middle of it, it is compiled without that device and begun
    /// again: no variable has been written then, because that comes last.
    fn attempt<T>(
        &self,
        inputs: &[&Tensor],
        call: impl Fn(&Compiled, &Runtime, &[&DeviceTensor], &[&DeviceTensor]) -> Result<(Outcome, T)>,
    ) -> Result<(Vec<Tensor>, T)> {
        let mut lost: SmallVec<[DeviceId; 2]> = SmallVec::new();
        loop {
            let prepared = self.prepare(inputs)?;
            // Tracing and compiling are over: nothing else is waited for with the turns of variables in hand.
            let turns = together::turns(&prepared.variant.recorded);
            let Some(variables) = prepared.variables()? else {
                prepared.variant.compiled.outdate();
                continue;
            };
            let done = prepared.run(variables, &call);
            drop(turns);
            match done {
                Err(Error::DeviceLost { device, why }) if !lost.contains(&device) => {
                    lost.push(device);
                    prepared.variant.runtime.say(format!(
                        "{device} was lost in a call ({why}): the function is called again without it"
                    ));
                }
                done => return done,
            }
        }
    }

    /// How many variants of it are kept, each for a signature, a set of devices and a scope around the call;
    /// see [`Variants`](situ_runtime::Variants).
    pub fn variants(&self) -> usize {
        self.variants.read().unwrap_or_else(|p| p.into_inner()).len()
    }

    /// How often the closure was traced: once for all shapes of the same ranks and dtypes, if nothing in it
    /// asked what shapes they are; else once for each signature; and again where its variants were let go.
    pub fn traces(&self) -> usize {
        self.traces.load(Relaxed)
    }

    /// Where every op runs for inputs like these, and why.
    #[track_caller]
    pub fn places(&self, inputs: &[&Tensor]) -> Result<Vec<NodePlace>> {
        Ok(self.look(inputs)?.compiled.places().to_vec())
    }

    /// Why every op runs where it does for inputs like these, what the alternatives would cost, and how near
    /// the best placement this one is.
    #[track_caller]
    pub fn explain(&self, inputs: &[&Tensor]) -> Result<Explanation> {
        Ok(self.look(inputs)?.compiled.explain())
    }

    /// What it was placed by for inputs like these, in the form that `situ place` reads.
    #[track_caller]
    pub fn cost_graph(&self, inputs: &[&Tensor]) -> Result<GraphFile> {
        Ok(self.look(inputs)?.compiled.cost_graph())
    }

    /// Where its ops would run on a machine that one does not have, and how long a call would take there, by
    /// a profile's figures.
    #[track_caller]
    pub fn plan_for(&self, profile: &Profile, inputs: &[&Tensor]) -> Result<Answer> {
        self.look(inputs)?.compiled.plan_for(profile)
    }

    /// The plan's figures for inputs like these.
    #[track_caller]
    pub fn plan(&self, inputs: &[&Tensor]) -> Result<PlanSummary> {
        Ok(self.look(inputs)?.compiled.summary())
    }

    /// Seconds that each device works in a call with inputs like these: measured in the calls that are
    /// sampled, as far as it was.
    #[track_caller]
    pub fn busy(&self, inputs: &[&Tensor]) -> Result<Vec<(DeviceId, f64)>> {
        Ok(self.look(inputs)?.compiled.busy())
    }

    /// What the passes did for inputs like these, and what they nearly did: for the first shape of these
    /// ranks, where they did not have to run again.
    #[track_caller]
    pub fn passes(&self, inputs: &[&Tensor]) -> Result<Vec<Report>> {
        Ok(self.look(inputs)?.compiled.reports().to_vec())
    }

    /// The graph that runs for inputs like these: after the passes.
    #[track_caller]
    pub fn optimized_graph(&self, inputs: &[&Tensor]) -> Result<Graph> {
        Ok(self.look(inputs)?.compiled.graph().clone())
    }

    /// The graph for inputs like these, as it was traced.
    #[track_caller]
    pub fn graph(&self, inputs: &[&Tensor]) -> Result<Graph> {
        Ok(self.look(inputs)?.recorded.graph.clone())
    }

    /// What a call with inputs like these would run.
    #[track_caller]
    fn look(&self, inputs: &[&Tensor]) -> Result<Arc<Variant>> {
        if let Some(padded) = self.padded(inputs, Caller::here())? {
            return self.look(&padded.inputs.iter().collect::<Vec<_>>());
        }
        loop {
            let variant = self.prepare(inputs)?.variant;
            if variant.finds_its_variables() {
                return Ok(variant);
            }
            variant.compiled.outdate();
        }
    }

    fn prepare<'i>(&self, inputs: &'i [&'i Tensor]) -> Result<Prepared<'i>> {
        let mut arguments: SmallVec<[&DeviceTensor; 4]> = SmallVec::new();
        for input in inputs {
            arguments.push(input.concrete()?);
        }
        let around = around();
        let request = around.request();
        let known = self.variants.read().unwrap_or_else(|p| p.into_inner());
        if let Some(variant) = known.iter().find(|v| v.fits(&arguments, request)) {
            let age = self.age.load(Relaxed);
            if variant.called.load(Relaxed) != age {
                variant.called.store(age, Relaxed);
            }
            return Ok(Prepared { variant: variant.clone(), arguments });
        }
        // One that fits but for what has changed since: what it learned holds on.
        let before = known.iter().find(|v| v.is_for(&arguments, request)).cloned();
        // Those that fit but for sizes, the last first: one may be like this one.
        let similar = known.iter().rev().filter(|v| v.is_like(&arguments, request)).take(MOST_ALIKE);
        let similar: SmallVec<[Arc<Variant>; MOST_ALIKE]> = similar.cloned().collect();
        drop(known);
        let variant = Arc::new(self.variant(&arguments, request.clone(), before.as_deref(), &similar)?);
        if let Some(before) = &before {
            let [was, is] = [before, &variant].map(|v| v.compiled.expected());
            let cause =
                before.compiled.why_outdated(&before.runtime).unwrap_or("another call was compiling it");
            let again = || Entry::Placed(PlacedAgain::now(self.name.clone(), was, is, cause));
            variant.runtime.note(again);
        }
        let mut known = self.variants.write().unwrap_or_else(|p| p.into_inner());
        // A variant whose runtime has changed its devices can't run any more.
        known.retain(|v| v.compiled.is_current(&v.runtime) && !v.is_for(&arguments, &variant.request));
        known.push(variant.clone());
        variant.called.store(self.age.fetch_add(1, Relaxed) + 1, Relaxed);
        let gone = beyond(&mut known, variant.runtime.variants());
        drop(known);
        // Calls that are under way hold theirs; what the others hold goes without the lock.
        drop(gone);
        Ok(Prepared { variant, arguments })
    }

    fn variant(
        &self,
        inputs: &[&DeviceTensor],
        request: Request,
        before: Option<&Variant>,
        similar: &[Arc<Variant>],
    ) -> Result<Variant> {
        let types: SmallVec<[TensorType; 2]> = inputs.iter().map(|t| t.tensor_type()).collect();
        let devices: SmallVec<[DeviceId; 2]> = inputs.iter().map(|t| t.device()).collect();
        let runtime = match inputs.first() {
            Some(first) => (*Runtime::of(first)?).clone(),
            None => current_runtime(),
        };
        let begun = Instant::now();
        let (recorded, changed) = self.recorded(&types)?;
        let variables: Vec<DeviceId> = recorded.variables.iter().map(|v| v.device()).collect();
        let movable: Vec<bool> = recorded.variables.iter().map(|v| v.is_movable()).collect();
        let similar = similar.iter().filter(|v| v.recorded.holds_what(&recorded));
        let similar: SmallVec<[SimilarVariant<'_>; MOST_ALIKE]> =
            similar.map(|v| SimilarVariant { graph: &v.recorded.graph, compiled: &v.compiled }).collect();
        let compiled = runtime.compile(&Program {
            graph: &recorded.graph,
            captures: &recorded.captures,
            arguments: &devices,
            variables: &variables,
            movable: &movable,
            call: &request,
            passes: &self.passes,
            function: &self.name,
            draws: &recorded.draws,
            before: before.map(|v| &v.compiled),
            similar: &similar,
        })?;
        if let Some(cause) = changed {
            let (traces, took) = (self.traces(), begun.elapsed());
            let again = || TracedAgain::now(self.name.clone(), traces, types.to_vec(), cause, took);
            runtime.note(|| Entry::Traced(again()));
        }
        Ok(Variant { types, devices, request, runtime, recorded, compiled, called: AtomicU64::new(0) })
    }

    fn trace(&self, types: &[TensorType]) -> Result<Recorded> {
        // Nodes record the scopes inside the function; the one around the call is kept apart from them.
        let _inside = enter(Request::default());
        trace::record(types, |inputs| (self.body)(inputs))
    }

    /// The trace for a signature, for who wants to look at it: it is not counted, and not kept.
    pub(crate) fn recorded_apart(&self, types: &[TensorType]) -> Result<Arc<Recorded>> {
        let known = self.variants.read().unwrap_or_else(|p| p.into_inner());
        if let Some(variant) = known.iter().find(|v| v.types.as_slice() == types) {
            return Ok(variant.recorded.clone());
        }
        let of_ranks = known.iter().rev().find(|v| has_ranks(&v.types, types.iter().copied()));
        if let Some(recorded) = of_ranks.and_then(|v| v.recorded.for_types(types)) {
            return Ok(Arc::new(recorded));
        }
        drop(known);
        self.trace(types).map(Arc::new)
    }

    /// The trace for a signature: one that is there, for these sizes or for any, or a new one. Where the
    /// signature is another than those that there are, with how it differs: it is compiled for it, traced
    /// anew or not.
    fn recorded(&self, types: &[TensorType]) -> Result<(Arc<Recorded>, Option<String>)> {
        let known = self.variants.read().unwrap_or_else(|p| p.into_inner());
        if let Some(variant) = known.iter().find(|v| v.types.as_slice() == types) {
            return Ok((variant.recorded.clone(), None));
        }
        let cause = known.last().map(|v| change(&v.types, types));
        let of_ranks = known.iter().rev().find(|v| has_ranks(&v.types, types.iter().copied()));
        if let Some(recorded) = of_ranks.and_then(|v| v.recorded.for_types(types)) {
            return Ok((Arc::new(recorded), cause));
        }
        drop(known);
        let recorded = self.trace(types)?;
        if self.traces.fetch_add(1, Relaxed) + 1 == MANY_TRACES {
            let cause =
                cause.as_ref().map_or_else(String::new, |cause| format!(": the last time because {cause}"));
            current_runtime().say(format!(
                "{} was traced {MANY_TRACES} times{cause}; keep shapes and dtypes equal between calls, or pad them",
                self.name
            ));
        }
        Ok((Arc::new(recorded), cause))
    }
}

fn one(mut outputs: Vec<Tensor>) -> Result<Tensor> {
    match (outputs.pop(), outputs.is_empty()) {
        (Some(output), true) => Ok(output),
        _ => Err(Error::argument("function", "it does not give exactly one result", "use call_many")),
    }
}

#[cold]
fn wrong_count(takes: usize, given: usize) -> Error {
    Error::argument(
        "function",
        format!("it takes {takes} tensors, was given {given}"),
        "give as many as its closure takes",
    )
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function").field("traces", &self.traces()).finish_non_exhaustive()
    }
}
