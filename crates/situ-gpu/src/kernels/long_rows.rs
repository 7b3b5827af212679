//! Rows that are too long for a team: they are cut, two numbers are kept of each cut in the workspace, and
//! joined until there are two for each row; a last pass makes the result from those, cut by cut again.
//!
//! A kernel says how elements are found ([`Reads`]) and which [`Numbers`] are kept. The order of additions
//! depends on the rows and the device's borders alone.

use super::run::{Params, Run};
use super::shader::{Math, entry};
use super::team::Team;
use crate::borders::Borders;
use crate::fault::Fault;
use crate::memory::Block;
use crate::pipelines::{Form, Pipeline, PipelineKey, Source, View};
use std::sync::Arc;

/// Elements of a cut, at most; and numbers joined by one invocation.
const CUT: usize = 2048;
const JOINED: usize = 1024;
/// The vectors of words that are the machinery's; see `wgsl/long_rows.wgsl`.
const HOW: usize = 12;

/// What is kept of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Numbers {
    /// The largest, and the sum of e^(x - largest).
    Exponents,
    /// The mean, and the sum of squared distances from it.
    Moments,
    /// One sum for each cut.
    Sums,
}

impl Numbers {
    fn text(self) -> &'static str {
        match self {
            Numbers::Exponents => include_str!("wgsl/long_exponents.wgsl"),
            Numbers::Moments => include_str!("wgsl/long_moments.wgsl"),
            Numbers::Sums => include_str!("wgsl/long_sums.wgsl"),
        }
    }
}

/// How a row lies: where it begins, and where its elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reads {
    /// Anywhere; the first of the op's own words is the distance of elements.
    Strided,
    /// A channel of a dense tensor; the op's own words are channels, and elements behind the channel.
    Channel,
}

impl Reads {
    fn text(self) -> &'static str {
        match self {
            Reads::Strided => {
                "fn origin(row: u32) -> u32 { return kept(row).x; }
fn value(begin: u32, i: u32) -> f32 { return bitcast<f32>(b0[begin + i * params.w[2].x]); }
"
            }
            Reads::Channel => {
                "fn origin(row: u32) -> u32 { return row; }
fn value(row: u32, i: u32) -> f32 {
    let own = params.w[2];
    let above = i / own.y;
    return bitcast<f32>(b0[params.w[1].x + (above * own.x + row) * own.y + (i - above * own.y)]);
}
"
            }
        }
    }
}

/// Rows that are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongRows {
    rows: usize,
    length: usize,
    cut: usize,
    /// Numbers joined by one invocation.
    joined: usize,
}

impl LongRows {
    /// `None` where a team can do a row in `passes` passes over it.
    pub(super) fn of(rows: usize, length: usize, passes: usize, borders: &Borders) -> Option<LongRows> {
        let most = borders.trips / (2 * passes + 2);
        let fits = match Team::choose(rows, length, borders.software) {
            Team::Alone => length <= most,
            Team::Group => length <= 256 * most,
        };
        let cut = length.div_ceil(Borders::parts(length, CUT.min(most)));
        (!fits).then_some(LongRows { rows, length, cut, joined: JOINED.min(most).max(2) })
    }

    fn cuts(&self) -> usize {
        self.length.div_ceil(self.cut)
    }

    /// Bytes of the numbers of all cuts, and of those joined from them.
    pub(super) fn bytes(&self) -> usize {
        let mut parts = self.cuts();
        let mut all = parts;
        while parts > 1 {
            parts = parts.div_ceil(self.joined);
            all += parts;
        }
        8 * self.rows * all
    }
}

/// One op on long rows.
pub(super) struct LongRowsCall<'a, 'b> {
    pub(super) run: &'b Run<'a>,
    pub(super) rows: LongRows,
    /// The op's parameters; the number of units, and the machinery's words, are put in.
    pub(super) params: Params,
    /// How elements of `b0` are found.
    pub(super) reads: Reads,
    /// What `b0` is.
    pub(super) input: &'a Block,
}

impl<'a> LongRowsCall<'a, '_> {
    /// Keeps the numbers of each cut from byte `at` of the workspace on, and joins them. Where those of whole
    /// rows lie, in words of the workspace's block.
    pub(super) fn summarise(&self, numbers: Numbers, at: usize) -> Result<u32, Fault> {
        let (work, start) = self.run.workspace()?;
        let to = start + (at / 4) as u32;
        let pipeline = self.pipeline("long_summaries", numbers, &[View::Words; 2], "b1", || {
            numbers.text().to_string() + "fn work(unit: u32) { let cut = cut_of(unit); keep(unit, summary(origin(cut.row), cut.first, cut.end)); }\n"
        })?;
        self.dispatch(&pipeline, &[self.input, work], self.units(), [0, to, 0])?;
        self.join(numbers, to)
    }

    /// Joins the numbers of each cut that lie from `from` on.
    pub(super) fn join(&self, numbers: Numbers, from: u32) -> Result<u32, Fault> {
        let (work, _) = self.run.workspace()?;
        let LongRows { rows, joined, .. } = self.rows;
        let pipeline = self.run.pipeline(PipelineKey::new("long_joins", numbers), || {
            // Only `merge` is called: there are no elements to read.
            let none = "fn value(begin: u32, i: u32) -> f32 { return 0.0; }\n";
            let text = none.to_string()
                + numbers.text()
                + "fn work(unit: u32) { keep(unit, merge(parts_of(unit))); }\n";
            source(&[View::Words], "b0", &text)
        })?;
        let (mut from, mut parts, mut span) = (from, self.rows.cuts(), self.rows.cut);
        while parts > 1 {
            let to = from + (2 * rows * parts) as u32;
            let next = parts.div_ceil(joined);
            let mut params = self.params;
            params.put(0, &[(rows * next) as u32]);
            params.put(HOW, &[rows as u32, parts as u32, joined as u32, span as u32, from, to]);
            self.run.dispatch(&pipeline, &[work], &params, (rows * next).div_ceil(256))?;
            (from, parts, span) = (to, next, span.saturating_mul(joined));
        }
        Ok(from)
    }

    /// A kernel that has `fn work(unit: u32)`, which finds the workspace as `work`.
    pub(super) fn pipeline(
        &self,
        kernel: &'static str,
        form: impl Form,
        buffers: &[View],
        work: &str,
        text: impl FnOnce() -> String,
    ) -> Result<Arc<Pipeline>, Fault> {
        let key = PipelineKey::new(kernel, (form, self.reads));
        self.run.pipeline(key, || source(buffers, work, &(self.reads.text().to_string() + &text())))
    }

    /// How many cuts there are in all.
    pub(super) fn units(&self) -> usize {
        self.rows.rows * self.rows.cuts()
    }

    /// The parameters for `units` units that read, write, and find those of whole rows at these places.
    pub(super) fn params(&self, units: usize, [from, to, whole]: [u32; 3]) -> Params {
        let LongRows { rows, cut, joined, .. } = self.rows;
        let mut params = self.params;
        params.put(0, &[units as u32]);
        let how = [rows as u32, self.rows.cuts() as u32, joined as u32, cut as u32, from, to, whole];
        params.put(HOW, &how);
        params
    }

    /// Queues `work` for each of `units`.
    pub(super) fn dispatch(
        &self,
        pipeline: &Pipeline,
        blocks: &[&Block],
        units: usize,
        places: [u32; 3],
    ) -> Result<(), Fault> {
        self.run.dispatch(pipeline, blocks, &self.params(units, places), units.div_ceil(256))
    }
}

/// A kernel with `fn work(unit: u32)`, in which `work` is the workspace.
pub(super) fn source(buffers: &[View], work: &str, text: &str) -> Source {
    let mut wgsl = (Math::EXP | Math::LOG).text() + include_str!("wgsl/rows.wgsl");
    wgsl += &include_str!("wgsl/long_rows.wgsl").replace("WORK", work);
    wgsl += text;
    wgsl += &entry(256);
    wgsl += "    let unit = group * 256u + lane;\n    if unit < params.w[0].x { work(unit); }\n}\n";
    Source { buffers: buffers.to_vec(), wgsl }
}
