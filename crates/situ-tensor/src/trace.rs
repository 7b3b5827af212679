//! Tracing: while a function's closure runs, ops become nodes of a graph instead of results.
//!
//! Traces stack: a branch or a loop body is traced inside its function. A value of an outer trace that is
//! used in an inner one becomes an argument of the inner graph, and so do captured tensors and variables, so
//! that inner graphs are pure.
//!
//! A trace knows whether anything could have come out otherwise for other sizes of its arguments: whether
//! anybody asked a traced tensor for its sizes ([`SizesRead`]), which methods that make sizes out of sizes do
//! too, or saw an op refuse its operands. If not, the graph holds for all shapes of the same ranks, and only
//! its types are worked out anew.

use crate::tensor::{Tensor, Traced};
use crate::together;
use crate::variable::Variable;
use situ_core::{Caller, Error, Request, Result, TensorType};
use situ_ir::graph::Source;
use situ_ir::{Graph, GraphBuilder, Op, Value};
use situ_runtime::DeviceTensor;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A finished trace: the graph, and what its captures and variables are.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) graph: Graph,
    pub(crate) captures: Vec<DeviceTensor>,
    pub(crate) variables: Vec<Variable>,
    /// The variables' numbers, in the order in which calls take their turns, and whether a call assigns them.
    pub(crate) order: Vec<(usize, bool)>,
    /// Calls that drew random numbers, whichever scope or device they were for.
    pub(crate) draws: Arc<AtomicU64>,
    sizes_read: SizesRead,
    /// Whether it draws random numbers: each trace takes streams of its own.
    is_random: bool,
}

impl Recorded {
    /// What a trace for arguments of these types, of the same ranks and dtypes, would record; `None` where
    /// only a trace can tell.
    pub(crate) fn for_types(&self, types: &[TensorType]) -> Option<Recorded> {
        if self.sizes_read.is_set() || self.is_random {
            return None;
        }
        Some(Recorded {
            // What does not fit is for the trace to say, with the line of the op.
            graph: self.graph.with_inputs(types).ok()?,
            captures: self.captures.clone(),
            variables: self.variables.clone(),
            order: self.order.clone(),
            draws: self.draws.clone(),
            sizes_read: self.sizes_read.clone(),
            is_random: false,
        })
    }

    /// Whether two traces are of the same captured tensors and variables.
    pub(crate) fn holds_what(&self, other: &Recorded) -> bool {
        let [a, b] = [self, other];
        a.captures.len() == b.captures.len()
            && a.variables.len() == b.variables.len()
            && a.captures.iter().zip(&b.captures).all(|(a, b)| a.is_same_view(b))
            && a.variables.iter().zip(&b.variables).all(|(a, b)| a.is_same(b))
    }
}

/// Whether anybody asked for sizes of a trace's tensors. It outlives the trace: so may they.
#[derive(Clone, Debug, Default)]
pub(crate) struct SizesRead(Arc<AtomicBool>);

impl SizesRead {
    pub(crate) fn set(&self) {
        self.0.store(true, Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// A traced block, whose arguments are not final: those that were declared, and behind them the outer values
/// that it used, in the order of their use.
pub(crate) struct Branch {
    builder: GraphBuilder,
    outputs: Vec<Value>,
    declared: usize,
    borrowed: Vec<Tensor>,
}

impl Branch {
    /// The outer values that any of these blocks uses, each once.
    pub(crate) fn joint(blocks: &[&Branch]) -> Vec<Tensor> {
        let mut all: Vec<Tensor> = Vec::new();
        for tensor in blocks.iter().flat_map(|block| &block.borrowed) {
            if !all.iter().any(|known| is_one(known, tensor)) {
                all.push(tensor.clone());
            }
        }
        all
    }

    /// The types of what it gives.
    pub(crate) fn gives(&self) -> Vec<TensorType> {
        self.outputs.iter().map(|value| self.builder.type_of(*value)).collect()
    }

    /// The block as a graph that takes, behind what was declared, all of `borrowed`: what it uses itself is
    /// among them. `passes_on`: it gives them too, as they are, behind its own results.
    pub(crate) fn finish(mut self, borrowed: &[Tensor], passes_on: bool) -> Result<Graph> {
        let mut types = self.builder.inputs()[..self.declared].to_vec();
        types.extend(borrowed.iter().map(Tensor::unseen_type));
        let mut places: Vec<usize> = (0..self.declared).collect();
        for own in &self.borrowed {
            let at = borrowed.iter().position(|tensor| is_one(tensor, own));
            places.push(self.declared + at.ok_or_else(|| lost_trace("function"))?);
        }
        self.builder.set_inputs(types, &places)?;
        if passes_on {
            for n in 0..borrowed.len() {
                self.outputs.push(self.builder.argument(self.declared + n)?);
            }
        }
        self.builder.finish(self.outputs, Vec::new())
    }
}

/// Whether two outer values are one to a block: also to a tape, by which gradients are asked.
fn is_one(a: &Tensor, b: &Tensor) -> bool {
    a.node() == b.node() && a.is_same(b)
}

/// One trace under way.
struct Trace {
    id: u64,
    builder: GraphBuilder,
    captures: Vec<(DeviceTensor, Value)>,
    variables: Vec<VariableState>,
    /// Outer values that this trace takes as arguments, in the order of the arguments.
    borrowed: Vec<(Tensor, Value)>,
    /// One for a trace and those inside it.
    sizes_read: SizesRead,
}

struct VariableState {
    variable: Variable,
    /// What reading it gives now.
    now: Value,
    assigned: bool,
}

thread_local! {
    static TRACES: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Whether a trace is under way on this thread.
#[inline]
pub(crate) fn is_tracing() -> bool {
    TRACES.with(|traces| !traces.borrow().is_empty())
}

/// Whether the trace under way is that of a branch or a loop within another.
pub(crate) fn is_branch() -> bool {
    TRACES.with(|traces| traces.borrow().len() > 1)
}

/// Ends a trace even if the closure fails or panics.
struct Ended;
impl Drop for Ended {
    fn drop(&mut self) {
        let _ = TRACES.try_with(|traces| traces.borrow_mut().pop());
    }
}

impl Trace {
    fn tensor(&self, value: Value) -> Tensor {
        Tensor::from_traced(Traced::new(self.id, value, self.builder.type_of(value), self.sizes_read.clone()))
    }
}

/// Says that the trace under way may come out otherwise for other sizes.
pub(crate) fn looked_at() {
    TRACES.with(|traces| traces.borrow().last().inspect(|trace| trace.sizes_read.set()).is_some());
}

/// Traces a closure as a function of tensors of these types.
pub(crate) fn record(
    types: &[TensorType],
    body: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Recorded> {
    let (trace, outputs) = run(types, body)?;
    let mut updates = Vec::new();
    for (index, state) in trace.variables.iter().enumerate() {
        if state.assigned {
            updates.push((index as u32, state.now));
        }
    }
    let graph = trace.builder.finish(outputs, updates)?;
    let is_random = graph.is_random();
    let assigned = trace.variables.iter().map(|state| (state.variable.clone(), state.assigned));
    Ok(Recorded {
        graph,
        order: together::order(assigned),
        captures: trace.captures.into_iter().map(|(tensor, _)| tensor).collect(),
        variables: trace.variables.into_iter().map(|state| state.variable).collect(),
        draws: Arc::default(),
        sizes_read: trace.sizes_read,
        is_random,
    })
}

/// Traces a block inside the trace under way, of tensors of these types. The closure runs once: what it makes
/// (a constant, a draw of random numbers) is made once.
pub(crate) fn block(
    types: &[TensorType],
    body: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Branch> {
    let (trace, outputs) = run(types, body)?;
    let borrowed = trace.borrowed.into_iter().map(|(tensor, _)| tensor).collect();
    Ok(Branch { builder: trace.builder, outputs, declared: types.len(), borrowed })
}

fn run(
    types: &[TensorType],
    body: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<(Trace, Vec<Value>)> {
    let id = NEXT.fetch_add(1, Relaxed);
    let outer = TRACES.with(|traces| traces.borrow().last().map(|trace| trace.sizes_read.clone()));
    let mut trace = Trace {
        id,
        builder: GraphBuilder::new(),
        captures: Vec::new(),
        variables: Vec::new(),
        borrowed: Vec::new(),
        sizes_read: outer.unwrap_or_default(),
    };
    let values: Vec<Value> = types.iter().map(|&ty| trace.builder.input(ty)).collect();
    let arguments: Vec<Tensor> = values.into_iter().map(|value| trace.tensor(value)).collect();
    TRACES.with(|traces| traces.borrow_mut().push(trace));
    let ended = Ended;
    let results = body(&arguments)?;
    let outputs = results.iter().map(|t| value_in(id, t)).collect::<Result<Vec<_>>>()?;
    std::mem::forget(ended);
    let trace = TRACES.with(|traces| traces.borrow_mut().pop());
    let trace = trace.filter(|t| t.id == id).ok_or_else(|| lost_trace("function"))?;
    Ok((trace, outputs))
}

/// Adds an op to the trace under way.
pub(crate) fn emit(op: Op, inputs: &[&Tensor], request: &Request, caller: Caller) -> Result<Tensor> {
    let id = current_id().ok_or_else(|| escaped(op.name()))?;
    let values = inputs.iter().map(|t| value_in(id, t)).collect::<Result<Vec<_>>>()?;
    with(id, |trace| {
        let value = trace.builder.op_with(op, &values, request.clone(), Source(Some(caller.location())));
        // Who sees an op refuse its operands may do something else.
        let value = value.inspect_err(|_| trace.sizes_read.set())?;
        Ok(trace.tensor(value))
    })
}

/// Adds a node made by `add` from the values of `inputs`; gives its outputs.
pub(crate) fn emit_node(
    inputs: &[&Tensor],
    add: impl FnOnce(&mut GraphBuilder, &[Value]) -> Result<situ_ir::NodeId>,
) -> Result<Vec<Tensor>> {
    let id = current_id().ok_or_else(|| escaped("cond"))?;
    let values = inputs.iter().map(|t| value_in(id, t)).collect::<Result<Vec<_>>>()?;
    with(id, |trace| {
        let node = add(&mut trace.builder, &values).inspect_err(|_| trace.sizes_read.set())?;
        let count = trace.builder.nodes()[node.index()].types.len();
        let values = (0..count).map(|output| Value::nth(node, output));
        Ok(values.map(|value| trace.tensor(value)).collect())
    })
}

/// The value of a variable, as the trace under way sees it.
pub(crate) fn read_variable(variable: &Variable) -> Result<Tensor> {
    let root = root_id().ok_or_else(|| escaped("variable"))?;
    with(root, |trace| {
        let index = trace.variable(variable);
        Ok(trace.tensor(trace.variables[index].now))
    })
}

/// Assigns to a variable in the trace under way: later reads see the value, and the call ends by writing it.
pub(crate) fn assign_variable(call: &'static str, variable: &Variable, value: &Tensor) -> Result<()> {
    let root = root_id().ok_or_else(|| escaped(call))?;
    if current_id() != Some(root) {
        return Err(Error::argument(
            call,
            "a branch or a loop body can't assign to a variable",
            "return the new value from it, and assign outside",
        ));
    }
    let new = value_in(root, value)?;
    with(root, |trace| {
        let index = trace.variable(variable);
        trace.variables[index].now = new;
        trace.variables[index].assigned = true;
        Ok(())
    })
}

impl Trace {
    fn variable(&mut self, variable: &Variable) -> usize {
        if let Some(index) = self.variables.iter().position(|s| s.variable.is_same(variable)) {
            return index;
        }
        let now = self.builder.variable(variable.tensor_type());
        self.variables.push(VariableState { variable: variable.clone(), now, assigned: false });
        self.variables.len() - 1
    }
}

fn current_id() -> Option<u64> {
    TRACES.with(|traces| traces.borrow().last().map(|t| t.id))
}

fn root_id() -> Option<u64> {
    TRACES.with(|traces| traces.borrow().first().map(|t| t.id))
}

fn with<T>(id: u64, f: impl FnOnce(&mut Trace) -> Result<T>) -> Result<T> {
    TRACES.with(|traces| {
        let mut traces = traces.borrow_mut();
        let trace = traces.iter_mut().find(|t| t.id == id).ok_or_else(|| lost_trace("function"))?;
        f(trace)
    })
}

/// The value that stands for a tensor in a trace: its own, or one borrowed from the trace around it.
fn value_in(id: u64, tensor: &Tensor) -> Result<Value> {
    if let Some(own) = tensor.traced()
        && own.trace == id
    {
        return Ok(own.value);
    }
    let depth = TRACES.with(|traces| traces.borrow().iter().position(|t| t.id == id));
    let Some(depth) = depth else { return Err(lost_trace("function")) };
    if depth == 0 {
        return match tensor.concrete() {
            Ok(concrete) => with(id, |trace| {
                let known = trace.captures.iter().find(|(held, _)| held.is_same_view(concrete));
                if let Some((_, value)) = known {
                    return Ok(*value);
                }
                let value = trace.builder.capture(concrete.tensor_type());
                trace.captures.push((concrete.clone(), value));
                Ok(value)
            }),
            Err(_) => Err(escaped("function")),
        };
    }
    let known =
        with(id, |trace| Ok(trace.borrowed.iter().find(|(t, _)| is_one(t, tensor)).map(|(_, v)| *v)))?;
    if let Some(value) = known {
        return Ok(value);
    }
    // The trace around must be able to give it: this captures there what is concrete.
    let outer = TRACES.with(|traces| traces.borrow()[depth - 1].id);
    value_in(outer, tensor)?;
    with(id, |trace| {
        let value = trace.builder.input(tensor.unseen_type());
        trace.borrowed.push((tensor.clone(), value));
        Ok(value)
    })
}

#[cold]
fn escaped(op: &'static str) -> Error {
    Error::argument(
        op,
        "a tensor of a function that is no longer being traced was used",
        "return it from the function, and use what the call gives",
    )
}

#[cold]
fn lost_trace(op: &'static str) -> Error {
    Error::argument(
        op,
        "the trace ended while its closure was still running",
        "do not move tracing to another thread",
    )
}
