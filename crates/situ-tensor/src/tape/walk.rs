//! The tape's records as a history, and the builder that runs (or traces) gradient ops at once.

use super::log::{Record, is_recording, log_of, record_all, with_record};
use crate::apply::{apply_all, apply_on, apply_with};
use crate::rows::Rows;
use crate::tensor::Tensor;
use crate::trace::{emit_node, is_tracing};
use situ_core::{Caller, DType, Request, Result, TensorType};
use situ_ir::Op;
use situ_ir::gradient::elementwise::Compiled;
use situ_ir::gradient::graph::BackwardCond;
use situ_ir::gradient::{
    Application, Builder, Elementwise, Gradients, History, Made, Part, Recorded, ValueId, Values, none,
};
use situ_ir::graph::{Cond, Source};
use smallvec::SmallVec;
use std::sync::Arc;

pub(super) struct Walk {
    /// The records, if they are this walk's alone; else they stay in the log.
    own: Option<Vec<Record>>,
    /// The scope and the line of the step whose gradient is being made.
    request: Request,
    caller: Caller,
    /// What constants are made beside.
    beside: Option<Tensor>,
}

impl Walk {
    #[track_caller]
    pub(super) fn new(own: Option<Vec<Record>>) -> Walk {
        Walk { own, request: Request::default(), caller: Caller::here(), beside: None }
    }

    /// Constants are made beside `tensor`, under the scope of the step that made it.
    pub(super) fn at(&mut self, step: usize, tensor: &Tensor) {
        self.enter(step);
        self.beside = Some(tensor.clone());
    }

    /// The gradient that was found, as rows where it is rows: unless a tape around records what becomes of
    /// it, which knows tensors alone.
    pub(super) fn result(&mut self, found: Part<Tensor>) -> Result<Tensor> {
        match found {
            Part::Dense(gradient) => Ok(gradient),
            Part::Rows(rows) if is_recording() => rows.dense(self),
            Part::Rows(rows) => {
                let (indices, values) = rows.joined(self)?;
                Rows::new(rows.table(), indices, values).tensor(self.request.clone(), self.caller)
            }
        }
    }

    fn record<T>(&self, step: usize, look: impl FnOnce(&Record) -> T) -> T {
        match &self.own {
            Some(records) => look(&records[step]),
            None => with_record(step, look),
        }
    }
}

impl Builder for Walk {
    type Value = Tensor;

    fn emit(&mut self, op: Op, inputs: &[&Tensor]) -> Result<Tensor> {
        if inputs.is_empty()
            && self.request.spec.is_empty()
            && let Some(beside) = &self.beside
            && !is_tracing()
        {
            return apply_on(beside.device(), op, inputs, self.caller);
        }
        apply_with(op, inputs, &self.request, self.caller)
    }

    fn emit_all(&mut self, op: Op, inputs: &[&Tensor]) -> Result<Values<Tensor>> {
        Ok(apply_all(op, inputs, &self.request, self.caller)?.into())
    }

    fn type_of(&self, value: &Tensor) -> TensorType {
        value.tensor_type()
    }

    fn elementwise<E: Elementwise>(&mut self, function: &E, inputs: &[&Tensor]) -> Result<Tensor> {
        if is_tracing() {
            // The function's passes fuse it with what is around it.
            let values: SmallVec<[Tensor; 4]> = inputs.iter().map(|v| (*v).clone()).collect();
            return function.build(self, &values);
        }
        let dtypes: SmallVec<[DType; 5]> = inputs.iter().map(|t| t.dtype()).collect();
        let compiled = Compiled::new(function, &dtypes)?;
        let reads: SmallVec<[&Tensor; 5]> = compiled.reads.iter().map(|n| inputs[usize::from(*n)]).collect();
        match &compiled.op {
            Some(op) => self.emit(op.clone(), &reads),
            None => Ok(reads[0].clone()),
        }
    }
}

impl History for Walk {
    fn parents(&self, step: usize, each: &mut dyn FnMut(ValueId)) {
        self.record(step, |record| record.from().for_each(each));
    }

    fn name(&self, step: usize) -> &'static str {
        self.record(step, Record::name)
    }

    fn step(&mut self, step: usize) -> Recorded<Tensor> {
        let recorded = match &mut self.own {
            Some(records) => records[step].taken(),
            None => with_record(step, Record::copied),
        };
        self.beside = recorded.outputs.first().cloned();
        recorded
    }

    fn enter(&mut self, step: usize) {
        let (request, location) = self.record(step, |record| (record.request.clone(), record.location));
        let name = request.name.gradient();
        (self.request, self.caller) = (Request { name, ..request }, location.into());
    }

    fn beside(&mut self, value: &Tensor) {
        self.beside = Some(value.clone());
    }

    fn cond_gradient(&mut self, cond: &Cond, at: &Application<'_, Tensor>) -> Result<Gradients<Tensor>> {
        let Some(BackwardCond { cond, arguments }) = BackwardCond::new(cond, at)? else {
            return Ok(none(at.inputs.len()));
        };
        let mut inputs = vec![&at.inputs[0]];
        inputs.extend(arguments);
        let (request, caller) = (self.request.clone(), self.caller);
        let log = log_of(&inputs);
        let kept = (log != 0).then(|| Arc::new(cond.clone()));
        let mut results = emit_node(&inputs, |builder, values| {
            builder.cond(cond, values[0], &values[1..], request.clone(), Source(Some(caller.location())))
        })?;
        if let Some(cond) = kept {
            results = record_all(log, Made::Cond(cond), &inputs, results, request, caller);
        }
        let mut results = results.into_iter();
        Ok(at.wanted.iter().map(|wanted| if *wanted { results.next() } else { None }).collect())
    }
}
