//! What the tapes of a thread have recorded: one list for all of them, of which each tape owns the end from
//! its start on.
//!
//! A tensor handle carries its place in the list, so that recording needs no search: an op is recorded if an
//! input's place is in the current list. The list ends with the last tape, and places in an ended list mean
//! nothing.

use crate::scope::line_of;
use crate::tensor::Tensor;
use crate::variable::Variable;
use situ_core::{Caller, Location, Request};
use situ_ir::gradient::{Made, Recorded, ValueId};
use situ_ir::ops::Dense;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The place of a tensor among the records of a log; [`Node::NONE`] for what no tape knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    log: u32,
    /// The record, and the output in the last three bits; where these are all ones, the position in the log's
    /// list of further outputs.
    index: u32,
}

/// The bits of a place that say which output it is. Nearly every op has one output, so that a place is no
/// larger than it must be.
const OUTPUT_BITS: u32 = 3;

/// What the bits say of outputs that they can't number.
const FURTHER: u32 = (1 << OUTPUT_BITS) - 1;

impl Node {
    pub(crate) const NONE: Node = Node { log: 0, index: 0 };

    /// The first output of a record.
    fn first(log: u32, step: usize) -> Node {
        Node { log, index: (step as u32) << OUTPUT_BITS }
    }

    /// Any output of a record.
    fn new(log: u32, step: usize, output: usize, further: &mut Vec<ValueId>) -> Node {
        if output < FURTHER as usize {
            return Node { log, index: (step as u32) << OUTPUT_BITS | output as u32 };
        }
        further.push(ValueId { step: step as u32, output: output as u32 });
        Node { log, index: (further.len() as u32 - 1) << OUTPUT_BITS | FURTHER }
    }

    /// The place in that log.
    pub(super) fn value(self, log: u32) -> Option<ValueId> {
        if self.log == log { LOG.with_borrow(|held| self.known(log, &held.further)) } else { None }
    }

    #[inline]
    fn known(self, log: u32, further: &[ValueId]) -> Option<ValueId> {
        let (at, output) = (self.index >> OUTPUT_BITS, self.index & FURTHER);
        match output {
            _ if self.log != log => None,
            FURTHER => further.get(at as usize).copied(),
            output => Some(ValueId { step: at, output }),
        }
    }
}

/// One recorded op.
#[derive(Debug)]
pub(super) struct Record {
    made: Made,
    /// Where each input was made.
    from: SmallVec<[Option<ValueId>; 3]>,
    inputs: SmallVec<[Tensor; 3]>,
    outputs: SmallVec<[Tensor; 1]>,
    pub(super) request: Request,
    pub(super) location: Location,
    variable: Option<Variable>,
}

impl Record {
    pub(super) fn name(&self) -> &'static str {
        if self.variable.is_some() { "variable" } else { self.made.name() }
    }

    pub(super) fn from(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.from.iter().flatten().copied()
    }

    pub(super) fn copied(&self) -> Recorded<Tensor> {
        Recorded {
            made: self.made.clone(),
            inputs: self.inputs.clone(),
            from: self.from.clone(),
            outputs: self.outputs.clone(),
        }
    }

    /// Its content, of which it keeps where inputs came from.
    pub(super) fn taken(&mut self) -> Recorded<Tensor> {
        Recorded {
            made: std::mem::replace(&mut self.made, Made::Given),
            inputs: std::mem::take(&mut self.inputs),
            from: self.from.clone(),
            outputs: std::mem::take(&mut self.outputs),
        }
    }
}

#[derive(Default)]
struct Log {
    /// Tapes that have not ended.
    tapes: usize,
    records: Vec<Record>,
    /// Outputs that a place can't number itself.
    further: Vec<ValueId>,
    /// Variables that were read, with their records.
    variables: Vec<(Variable, u32)>,
}

thread_local! {
    static LOG: RefCell<Log> = RefCell::default();
    /// The number of the log that ops are recorded in; 0 while none are.
    static RECORDING: Cell<u32> = const { Cell::new(0) };
    /// The number of the log of the tapes that run.
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

static NEXT: AtomicU32 = AtomicU32::new(1);

/// Whether ops are being recorded on this thread.
#[inline]
pub(crate) fn is_recording() -> bool {
    RECORDING.get() != 0
}

/// The log in which an op on these inputs is to be recorded; 0 if it is not.
#[inline]
pub(crate) fn log_of(inputs: &[&Tensor]) -> u32 {
    let log = RECORDING.get();
    if log != 0 && inputs.iter().any(|t| t.node().log == log) { log } else { 0 }
}

/// Records an op with one result, and gives the result with its place.
pub(crate) fn record(
    log: u32,
    made: Made,
    inputs: &[&Tensor],
    output: Tensor,
    request: Request,
    caller: Caller,
) -> Tensor {
    let location = caller.location();
    LOG.with_borrow_mut(|held| {
        let output = output.at(Node::first(log, held.records.len()));
        held.records.push(Record {
            made,
            from: inputs.iter().map(|t| t.node().known(log, &held.further)).collect(),
            inputs: inputs.iter().map(|t| (*t).clone()).collect(),
            outputs: SmallVec::from_buf([output.clone()]),
            request,
            location,
            variable: None,
        });
        output
    })
}

/// Records an op with several results.
pub(crate) fn record_all(
    log: u32,
    made: Made,
    inputs: &[&Tensor],
    outputs: Vec<Tensor>,
    request: Request,
    caller: Caller,
) -> Vec<Tensor> {
    let location = caller.location();
    LOG.with_borrow_mut(|held| {
        let step = held.records.len();
        let further = &mut held.further;
        let named = |(n, output): (usize, Tensor)| output.at(Node::new(log, step, n, further));
        let outputs: Vec<Tensor> = outputs.into_iter().enumerate().map(named).collect();
        held.records.push(Record {
            made,
            from: inputs.iter().map(|t| t.node().known(log, &held.further)).collect(),
            inputs: inputs.iter().map(|t| (*t).clone()).collect(),
            outputs: outputs.iter().cloned().collect(),
            request,
            location,
            variable: None,
        });
        outputs
    })
}

/// A variable's value as it was read, with the variable's place.
#[track_caller]
pub(crate) fn read_of(variable: &Variable, value: Tensor) -> Tensor {
    let log = RECORDING.get();
    if log == 0 || !value.dtype().is_float() {
        return value;
    }
    let caller = line_of(Caller::here());
    LOG.with_borrow_mut(|held| {
        let hint = variable.place();
        let at = |(known, step): &(Variable, u32)| known.is_same(variable).then_some(*step);
        // Two threads may read one variable, so that the hint is another's.
        let found = held.variables.get(hint).and_then(at);
        let step = match found.or_else(|| held.variables.iter().find_map(at)) {
            Some(step) => step as usize,
            None => {
                let step = held.records.len();
                variable.set_place(held.variables.len());
                held.variables.push((variable.clone(), step as u32));
                held.records.push(Record {
                    made: Made::Given,
                    from: SmallVec::new(),
                    inputs: SmallVec::new(),
                    outputs: SmallVec::from_buf([value.clone()]),
                    request: Request { spec: variable.here(), ..Request::default() },
                    location: caller.location(),
                    variable: Some(variable.clone()),
                });
                step
            }
        };
        value.at(Node::first(log, step))
    })
}

/// Where a variable stands, if it was read.
pub(super) fn variable_id(variable: &Variable) -> Option<ValueId> {
    LOG.with_borrow(|held| {
        let known = held.variables.iter().find(|(known, _)| known.is_same(variable));
        known.map(|(_, step)| ValueId { step: *step, output: 0 })
    })
}

/// A tensor under a place of its own, from which gradients go on to where it came from.
#[track_caller]
pub(super) fn watch(log: u32, tensor: &Tensor) -> Tensor {
    let made = if tensor.node().log == log { Made::Op(Dense.into()) } else { Made::Given };
    let inputs: &[&Tensor] = if matches!(made, Made::Given) { &[] } else { &[tensor] };
    record(log, made, inputs, tensor.clone(), Request::default(), line_of(Caller::here()))
}

/// Begins a tape: its log, and its first record.
pub(super) fn begin() -> (u32, usize) {
    LOG.with_borrow_mut(|held| {
        if held.tapes == 0 {
            let log = NEXT.fetch_add(1, Relaxed).max(1);
            CURRENT.set(log);
        }
        held.tapes += 1;
        RECORDING.set(CURRENT.get());
        (CURRENT.get(), held.records.len())
    })
}

/// Ends a tape; with the last one, what was recorded goes.
pub(super) fn end() {
    // A thread that ends may have let go of its log already.
    let _ = LOG.try_with(|held| {
        let mut held = held.borrow_mut();
        held.tapes = held.tapes.saturating_sub(1);
        if held.tapes == 0 {
            RECORDING.set(0);
            CURRENT.set(0);
            let mut records = std::mem::take(&mut held.records);
            held.variables.clear();
            held.further.clear();
            drop(held);
            // Dropping tensors gives memory back, which must not find the log borrowed. The list's own memory
            // is kept.
            records.clear();
            let _ = LOG.try_with(|held| held.borrow_mut().records = records);
        }
    });
}

/// Recording held up while a tape computes its gradients, unless there is a tape around it.
pub(super) struct Paused {
    alone: bool,
    log: u32,
}

impl Paused {
    pub(super) fn new(log: u32) -> Paused {
        let alone = LOG.with_borrow(|held| held.tapes == 1);
        if alone {
            RECORDING.set(0);
        }
        Paused { alone, log }
    }

    /// Whether there is no other tape.
    pub(super) fn alone(&self) -> bool {
        self.alone
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        if self.alone {
            RECORDING.set(self.log);
        }
    }
}

/// How many records there are.
pub(super) fn length() -> usize {
    LOG.with_borrow(|held| held.records.len())
}

/// The records, out of the log. Only for a tape that is alone, and ends.
pub(super) fn take(log: u32) -> Vec<Record> {
    debug_assert_eq!(CURRENT.get(), log);
    LOG.with_borrow_mut(|held| std::mem::take(&mut held.records))
}

/// Looks at a record.
pub(super) fn with_record<T>(step: usize, look: impl FnOnce(&Record) -> T) -> T {
    LOG.with_borrow(|held| look(&held.records[step]))
}

/// The name of what made a value.
pub(super) fn name_of(id: ValueId) -> &'static str {
    with_record(id.step as usize, Record::name)
}
