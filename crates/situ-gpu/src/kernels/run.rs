//! What a kernel's host side works with: the call, the blocks of its tensors, and the way to the stream.

use crate::borders::Borders;
use crate::checks::{BadValue, PendingCheck};
use crate::clock::Stopwatch;
use crate::fault::Fault;
use crate::memory::{Block, Held};
use crate::pipelines::{Form, MAX_PARAM_WORDS, PARAM_WORDS, Pipeline, PipelineKey, Source, View};
use crate::stream::{Launch, Stream};
use situ_core::{Layout, MAX_RANK};
use situ_device::{Arg, Call, Check, Region};
use std::sync::Arc;

/// Elements that one workgroup of the elementwise kernels handles: 256 invocations, 4 elements each.
pub(crate) const GROUP_ELEMENTS: usize = 1024;

/// The word in which a dispatch finds its first workgroup's number; see [`super::shader::entry`].
const FIRST_GROUP: usize = 61;

/// One launch on one device.
pub(crate) struct Run<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) call: &'a Call<'a>,
    /// Estimated work: elements touched and arithmetic done.
    pub(crate) work: u64,
    /// What times it, if somebody wants to know.
    pub(crate) watch: Option<&'a Arc<Stopwatch>>,
}

/// Parameters of a kernel, laid out as the templates read them: four words of sizes, four of offsets, four of
/// the op's own, then four for each axis.
#[derive(Clone, Copy)]
pub(crate) struct Params {
    words: [u32; MAX_PARAM_WORDS],
    used: usize,
}

impl Params {
    /// The index of the first axis' four words, in fours.
    pub(crate) const AXES: usize = 3;

    pub(crate) fn new(sizes: [u32; 4], offsets: [u32; 4]) -> Params {
        let mut params = Params { words: [0; MAX_PARAM_WORDS], used: PARAM_WORDS };
        params.put(0, &sizes);
        params.put(1, &offsets);
        params
    }

    /// All the words there can be, the first four given.
    pub(crate) fn wide(sizes: [u32; 4]) -> Params {
        let mut params = Params { words: [0; MAX_PARAM_WORDS], used: MAX_PARAM_WORDS };
        params.put(0, &sizes);
        params
    }

    /// Puts words into vector `vector` and those behind it.
    pub(crate) fn put(&mut self, vector: usize, words: &[u32]) {
        self.words[4 * vector..4 * vector + words.len()].copy_from_slice(words);
    }

    /// With the op's own words.
    pub(crate) fn with(mut self, own: [u32; 4]) -> Params {
        self.put(2, &own);
        self
    }

    /// The same from another workgroup on.
    fn beginning_at(mut self, first: usize) -> Params {
        self.words[FIRST_GROUP] = first as u32;
        self
    }

    /// With the words of one axis.
    pub(crate) fn axis(mut self, axis: usize, words: [u32; 4]) -> Params {
        debug_assert!(axis < MAX_RANK);
        self.put(Params::AXES + axis, &words);
        self
    }
}

impl<'a> Run<'a> {
    /// What the device can do in one go.
    pub(crate) fn borders(&self) -> &'a Borders {
        self.stream.context().borders()
    }

    /// The same launch, whose work is shared by `dispatches`.
    pub(crate) fn shared_by(&self, dispatches: usize) -> Run<'a> {
        Run { work: self.work / dispatches.max(1) as u64, ..*self }
    }

    /// The workspace that the kernel asked for: its block, and where it begins, in words.
    pub(crate) fn workspace(&self) -> Result<(&'a Block, u32), Fault> {
        let Some(region) = self.call.workspace else {
            return Err(Fault::Internal(format!("{} was given no workspace", self.call.op.name())));
        };
        Ok((block_of(region, self.stream)?, word_offset(region)))
    }

    pub(crate) fn input(&self, i: usize) -> &'a Arg<'a> {
        &self.call.inputs[i]
    }

    pub(crate) fn output(&self) -> &'a Arg<'a> {
        &self.call.outputs[0]
    }

    /// The block of a tensor. An empty one is never looked at, and may have no memory: any block does.
    pub(crate) fn block(&self, arg: &Arg<'a>) -> Result<&'a Block, Fault> {
        let region = if arg.layout.shape().elements() == 0 { self.output().region } else { arg.region };
        block_of(region, self.stream)
    }

    /// The kernel of that key.
    pub(crate) fn pipeline<F: Form>(
        &self,
        key: PipelineKey<F>,
        source: impl FnOnce() -> Source,
    ) -> Result<Arc<Pipeline>, Fault> {
        self.stream.pipelines().get(key, source)
    }

    /// Queues a kernel over `groups` workgroups, in as many dispatches as its work takes.
    pub(crate) fn dispatch(
        &self,
        pipeline: &Pipeline,
        blocks: &[&Block],
        params: &Params,
        groups: usize,
    ) -> Result<(), Fault> {
        for part in self.parts(params, groups) {
            self.stream.dispatch(&self.launch(pipeline, blocks, &part))?;
        }
        Ok(())
    }

    /// The dispatches of `groups` workgroups: none does more than the device's share of work.
    fn parts(&self, params: &Params, groups: usize) -> impl ExactSizeIterator<Item = Part> + use<> {
        let borders = self.borders();
        let wanted = Borders::parts(self.work.div_ceil(1 << 10) as usize, (borders.work >> 10) as usize);
        let step = groups.div_ceil(wanted).max(1);
        let (params, most, count) = (*params, borders.groups, groups.div_ceil(step));
        let work = self.work / count.max(1) as u64;
        (0..count).map(move |number| {
            let first = number * step;
            Part { params: params.beginning_at(first), groups: fold(step.min(groups - first), most), work }
        })
    }

    /// Queues a kernel that may find bad data. It binds `blocks` and, as its last buffer, the error slots.
    /// `indices` is a dense tensor of i32 or i64 in which the bad value stands at the row that the kernel
    /// notes.
    pub(crate) fn dispatch_checked(
        &self,
        pipeline: &Pipeline,
        blocks: &[&Block],
        params: &Params,
        groups: usize,
        bad: BadValue,
        indices: Option<&Arg<'a>>,
    ) -> Result<Option<Arc<Check>>, Fault> {
        self.dispatch_checked_as(self.call.op.name(), pipeline, blocks, params, groups, bad, indices)
    }

    /// The same for a part of the op, which errors name.
    pub(crate) fn dispatch_checked_as(
        &self,
        name: &'static str,
        pipeline: &Pipeline,
        blocks: &[&Block],
        params: &Params,
        groups: usize,
        bad: BadValue,
        indices: Option<&Arg<'a>>,
    ) -> Result<Option<Arc<Check>>, Fault> {
        let slots = self.stream.slots();
        let mut bound = blocks.to_vec();
        bound.push(&slots);
        let check = Check::open(name, self.call.location());
        let watch = PendingCheck { check: check.clone(), bad };
        let parts: Vec<Part> = self.parts(params, groups).collect();
        let mains: Vec<Launch<'_>> = parts.iter().map(|part| self.launch(pipeline, &bound, part)).collect();
        match indices {
            None => self.stream.dispatch_checked(&watch, &mains, None)?,
            Some(arg) => {
                let key = PipelineKey::new("note_value", ());
                let note = self.pipeline(key, || Source {
                    buffers: vec![View::Words, View::Words],
                    wgsl: include_str!("wgsl/note_value.wgsl").into(),
                })?;
                let bound = [self.block(arg)?, &*slots];
                let wide = u32::from(arg.dtype.size() == 8);
                let params = Params::new([0; 4], [element_offset(arg), wide, 0, 0]);
                let part = Part { params, groups: [1; 3], work: 1 };
                let note = self.launch(&note, &bound, &part);
                self.stream.dispatch_checked(&watch, &mains, Some(&note))?;
            }
        }
        Ok(Some(check))
    }

    fn launch<'b>(&'b self, pipeline: &'b Pipeline, blocks: &'b [&'b Block], part: &'b Part) -> Launch<'b> {
        Launch {
            pipeline,
            blocks,
            params: &part.params.words[..part.params.used],
            groups: part.groups,
            work: part.work,
            watch: self.watch,
        }
    }
}

/// One dispatch of a kernel.
struct Part {
    params: Params,
    groups: [u32; 3],
    work: u64,
}

/// The block of a region, which must be one of this stream's: another GPU's would spoil the whole batch.
pub(crate) fn block_of<'a>(region: Region<'a>, stream: &Stream) -> Result<&'a Block, Fault> {
    let held = region.block.native::<Held>();
    held.filter(|held| std::ptr::eq(&*held.stream, stream))
        .map(|held| &held.block)
        .ok_or_else(|| Fault::Internal("a tensor lies in memory that is not this GPU's".into()))
}

/// Where a tensor's first element lies in its block, in elements.
pub(crate) fn element_offset(arg: &Arg<'_>) -> u32 {
    offset_of(arg, arg.layout)
}

/// The same for another view of the tensor.
pub(crate) fn offset_of(arg: &Arg<'_>, layout: &Layout) -> u32 {
    (arg.region.offset / arg.dtype.size() + layout.offset()) as u32
}

/// Where a region starts in its block, in words.
fn word_offset(region: Region<'_>) -> u32 {
    (region.offset / 4) as u32
}

/// Workgroups that cover `elements` at [`GROUP_ELEMENTS`] each.
pub(crate) fn groups_for(elements: usize) -> usize {
    elements.div_ceil(GROUP_ELEMENTS)
}

/// `groups` workgroups in two dimensions, as close as may be; kernels number them row by row and look whether
/// they are beyond the end.
fn fold(groups: usize, most: u32) -> [u32; 3] {
    if groups <= most as usize {
        return [groups as u32, 1, 1];
    }
    let rows = groups.div_ceil(most as usize);
    [groups.div_ceil(rows) as u32, rows as u32, 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_workgroups_fold_into_a_plane_that_covers_them() {
        for groups in [1, 65535, 65536, 131_071, 4_000_000, 100_000_007] {
            let [x, y, z] = fold(groups, 65535);
            assert!(x <= 65535 && y <= 65535 && z == 1);
            let covered = x as usize * y as usize;
            assert!(covered >= groups && covered < groups + y as usize, "{groups}: {x} x {y}");
        }
    }
}
