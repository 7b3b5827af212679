//! Segment dynamic programming: a sequence of groups is cut into segments, each on a device whose memory
//! holds it, so that work plus what crosses the cuts is least.
//!
//! One device, the home, may be returned to again and again: the one without a limit that runs the most.
//! Every other device has one segment at most. The sum counts no overlap, so the best of several sequences is
//! chosen by the simulator.

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::orders::{UnitGraph, by_key, units_of};
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::random::Random;
use crate::ranks::{RankCost, tails, upward};
use crate::timer::Timer;

/// Longer sequences are first cut into this many blocks of neighbours.
const MOST_BLOCKS: usize = 600;
/// Sequences with random ties, beside the fixed ones.
const RANDOM_SEQUENCES: u64 = 4;

/// See the module's page.
pub struct Segments;

impl Constructive for Segments {
    fn name(&self) -> &'static str {
        "segments"
    }

    fn effort(&self) -> f64 {
        10.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let mut best = Best::default();
        for sequence in sequences(problem, RANDOM_SEQUENCES) {
            for crossing in [Crossing::Sum, Crossing::Most] {
                best.offer(cut(problem, &sequence, crossing, share, timer));
                if timer.is_over() {
                    return best.get(Constructive::name(self));
                }
            }
        }
        best.get(Constructive::name(self))
    }
}

/// Sequences of groups worth cutting.
pub(crate) fn sequences(problem: &Problem, random: u64) -> Vec<Vec<u32>> {
    let graph = UnitGraph::new(problem);
    let mut list = vec![graph.depth_first(None), units_of(problem, &problem.order)];
    let rank = upward(problem, RankCost::Mean);
    list.push(units_of(problem, &by_key(problem, |n| rank[n])));
    let few = if problem.node_count() > 2000 { 0 } else { random };
    for stream in 0..few {
        list.push(graph.depth_first(Some(&mut Random::new(17, stream))));
    }
    list
}

/// How tensors that cross one cut add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// One after the other.
    Sum,
    /// All at once: the longest counts.
    Most,
}

/// Cuts one sequence at the least cost, and orders the nodes by their way to the end.
pub(crate) fn cut(
    problem: &Problem,
    sequence: &[u32],
    crossing: Crossing,
    share: f64,
    timer: &Timer,
) -> Result<Timed, PlaceError> {
    let of_unit = Cutting::new(problem, sequence, crossing, share, timer)?.devices()?;
    let devices: Vec<u16> = problem.nodes.iter().map(|n| of_unit[n.unit as usize]).collect();
    let tails = tails(problem, &devices);
    let order = by_key(problem, |n| tails[n] + problem.seconds(n, devices[n].into()));
    Timed::new(problem, Schedule { devices, order }, timer)
}

struct Cutting<'a> {
    problem: &'a Problem,
    /// Neighbours in the sequence that are placed together.
    blocks: Vec<&'a [u32]>,
    home: Option<u16>,
    /// The devices that have one segment at most, in the order in which they are used.
    others: Vec<u16>,
    crossing: Crossing,
    place: Vec<u32>,
    /// How much of each memory may be filled.
    share: f64,
    timer: &'a Timer,
}

/// The least cost of a beginning of the sequence, and how it came about.
#[derive(Clone, Copy)]
struct State {
    cost: f64,
    /// Where the last segment begins, and whether the one before it was at home.
    begin: u32,
    from_home: bool,
}

const UNREACHED: State = State { cost: f64::INFINITY, begin: 0, from_home: false };

impl<'a> Cutting<'a> {
    fn new(
        problem: &'a Problem,
        sequence: &'a [u32],
        crossing: Crossing,
        share: f64,
        timer: &'a Timer,
    ) -> Result<Cutting<'a>, PlaceError> {
        let size = sequence.len().div_ceil(MOST_BLOCKS).max(1);
        let blocks: Vec<&[u32]> = sequence.chunks(size).collect();
        let mut place = vec![0; problem.units.len()];
        for (i, block) in blocks.iter().enumerate() {
            block.iter().for_each(|&u| place[u as usize] = i as u32);
        }
        let mut able = vec![0usize; problem.device_count()];
        for unit in &problem.units {
            timer.spend(unit.allowed.len())?;
            unit.allowed.iter().for_each(|&d| able[d as usize] += 1);
        }
        let able = |d: u16| able[d as usize];
        let devices = 0..problem.device_count() as u16;
        let unlimited = devices.clone().filter(|&d| problem.devices[d as usize].memory.is_none());
        let home = unlimited.max_by_key(|&d| (able(d), std::cmp::Reverse(d)));
        let mut others: Vec<u16> = devices.filter(|&d| Some(d) != home && able(d) > 0).collect();
        // Roomier devices first: early cuts are then the fewest.
        others.sort_by(|&a, &b| problem.limit(b.into()).total_cmp(&problem.limit(a.into())).then(a.cmp(&b)));
        Ok(Cutting { problem, blocks, home, others, crossing, place, share, timer })
    }

    /// Seconds of a block on a device, and the bytes of its nodes there. A group that may not run there runs
    /// where it may, and pays for the way.
    fn work(&self, block: usize, device: u16) -> f64 {
        let problem = self.problem;
        let mut seconds = 0.0;
        for &unit in self.blocks[block] {
            let row = &problem.units[unit as usize];
            let runs = if row.allowed.contains(&device) { device } else { row.allowed[0] };
            for &node in &row.members {
                seconds += problem.seconds(node as usize, runs.into());
                if runs != device {
                    let ways = problem.in_edges.row(node as usize).iter();
                    let way = ways.map(|&e| problem.edge_copy(e, device, runs)).filter(|s| s.is_finite());
                    seconds += 2.0 * way.fold(0.0, f64::max);
                }
            }
        }
        seconds
    }

    /// For each cut, the seconds of what crosses it when `left` is before it and `right` after it.
    fn crossings(&self, left: u16, right: u16) -> Vec<f64> {
        let problem = self.problem;
        let mut cuts = vec![0.0f64; self.blocks.len() + 1];
        // Sums are differences of a running total; the longest is found by painting spans.
        let mut spans: Vec<(usize, usize, f64)> = Vec::new();
        for node in 0..problem.node_count() {
            let row = problem.out_edges.row(node);
            let Some(&first) = row.first() else { continue };
            let home = self.place[problem.nodes[node].unit as usize] as usize;
            let (mut low, mut high) = (home, home);
            for &e in row {
                let there =
                    self.place[problem.nodes[problem.edges[e as usize].to as usize].unit as usize] as usize;
                low = low.min(there);
                high = high.max(there);
            }
            if high > home {
                spans.push((home + 1, high + 1, problem.edge_copy(first, left, right)));
            }
            if low < home {
                spans.push((low + 1, home + 1, problem.edge_copy(first, right, left)));
            }
        }
        match self.crossing {
            Crossing::Sum => {
                for (from, to, seconds) in spans {
                    cuts[from] += seconds;
                    if to < cuts.len() {
                        cuts[to] -= seconds;
                    }
                }
                let mut total = 0.0;
                for cut in &mut cuts {
                    total += *cut;
                    *cut = if total.is_nan() { f64::INFINITY } else { total.max(0.0) };
                }
            }
            Crossing::Most => {
                for (from, to, seconds) in spans {
                    for cut in &mut cuts[from..to] {
                        *cut = cut.max(seconds);
                    }
                }
            }
        }
        cuts
    }

    fn devices(&self) -> Result<Vec<u16>, PlaceError> {
        let (blocks, count) = (self.blocks.len(), self.others.len());
        let width = count + 1;
        // [position × devices used]: the last segment at home, or on the last device used.
        let mut at_home = vec![UNREACHED; (blocks + 1) * width];
        let mut away = vec![UNREACHED; (blocks + 1) * width];
        let start = State { cost: 0.0, ..UNREACHED };
        if self.home.is_some() {
            at_home[0] = start
        } else {
            away[0] = start
        }
        let home_work: Vec<f64> = match self.home {
            Some(home) => (0..blocks).map(|b| self.work(b, home)).collect(),
            None => vec![f64::INFINITY; blocks],
        };
        let tables = Tables::new(self)?;
        for i in 0..blocks {
            for used in 0..width {
                self.timer.spend(4)?;
                let (home, last) = (at_home[i * width + used], away[i * width + used]);
                // On at home, or back to it.
                let back = if used > 0 { last.cost + tables.returning[used - 1][i] } else { f64::INFINITY };
                let cost = home.cost.min(back) + home_work[i];
                if cost < at_home[(i + 1) * width + used].cost {
                    at_home[(i + 1) * width + used] =
                        State { cost, begin: i as u32, from_home: home.cost <= back };
                }
                if used == count {
                    continue;
                }
                let from_home = home.cost + if i == 0 { 0.0 } else { tables.leaving[used][i] };
                let onward = match used {
                    0 if i == 0 => last.cost,
                    0 => f64::INFINITY,
                    _ => last.cost + tables.onward[used][i],
                };
                let begin = from_home.min(onward);
                if !begin.is_finite() {
                    continue;
                }
                let device = &tables.devices[used];
                self.timer.spend(device.reach[i] as usize - i)?;
                for j in i + 1..=device.reach[i] as usize {
                    let cost = begin + device.sums[j] - device.sums[i];
                    let state = &mut away[j * width + used + 1];
                    if cost < state.cost {
                        *state = State { cost, begin: i as u32, from_home: from_home <= onward };
                    }
                }
            }
        }
        self.read_back(&at_home, &away, width)
    }

    fn read_back(&self, at_home: &[State], away: &[State], width: usize) -> Result<Vec<u16>, PlaceError> {
        let blocks = self.blocks.len();
        let ends = (0..width).flat_map(|used| [(true, used), (false, used)]);
        let state = |home: bool, i: usize, used: usize| {
            if home { at_home[i * width + used] } else { away[i * width + used] }
        };
        let cost = |end: &(bool, usize)| state(end.0, blocks, end.1).cost;
        let Some(mut end) =
            ends.min_by(|a, b| cost(a).total_cmp(&cost(b))).filter(|end| cost(end).is_finite())
        else {
            let why = "no way of cutting the graph into segments fits the devices".to_owned();
            return Err(PlaceError::Algorithm { algorithm: "segments".to_owned(), why });
        };
        let mut of_unit = vec![0u16; self.problem.units.len()];
        let mut i = blocks;
        while i > 0 {
            let here = state(end.0, i, end.1);
            let device = if end.0 { self.home.unwrap_or(0) } else { self.others[end.1 - 1] };
            for block in &self.blocks[here.begin as usize..i] {
                for &unit in *block {
                    let allowed = &self.problem.units[unit as usize].allowed;
                    of_unit[unit as usize] = if allowed.contains(&device) { device } else { allowed[0] };
                }
            }
            end = (here.from_home, if end.0 { end.1 } else { end.1 - 1 });
            i = here.begin as usize;
        }
        Ok(of_unit)
    }
}

/// What the recurrence needs of one device: running sums of work, and how far a segment from each place can
/// reach.
struct DeviceTable {
    sums: Vec<f64>,
    reach: Vec<u32>,
}

struct Tables {
    devices: Vec<DeviceTable>,
    /// Per device and cut, what crosses on the way from home, back to it, and from the device before.
    leaving: Vec<Vec<f64>>,
    returning: Vec<Vec<f64>>,
    onward: Vec<Vec<f64>>,
}

impl Tables {
    fn new(cutting: &Cutting<'_>) -> Result<Tables, PlaceError> {
        let problem = cutting.problem;
        let blocks = cutting.blocks.len();
        let twins = problem.twins();
        let mut devices: Vec<DeviceTable> = Vec::new();
        let mut tables =
            Tables { devices: Vec::new(), leaving: Vec::new(), returning: Vec::new(), onward: Vec::new() };
        // Per class, the first of the others that is of it.
        let mut first = vec![usize::MAX; twins.len()];
        // A block's work, and what crosses between two devices, take each node and edge into account.
        let each = 4 * (problem.node_count() + problem.edges.len()) + problem.units.len();
        for (i, &device) in cutting.others.iter().enumerate() {
            let twin = Some(first[twins[device as usize] as usize]).filter(|&j| j < i);
            cutting.timer.spend(if twin.is_some() { 4 * blocks } else { 4 * each })?;
            if twin.is_none() {
                first[twins[device as usize] as usize] = i;
            }
            if let Some(twin) = twin {
                devices.push(DeviceTable {
                    sums: devices[twin].sums.clone(),
                    reach: devices[twin].reach.clone(),
                });
            } else {
                let mut sums = vec![0.0; blocks + 1];
                for block in 0..blocks {
                    sums[block + 1] = sums[block] + cutting.work(block, device);
                }
                devices.push(DeviceTable { sums, reach: reach(cutting, device) });
            }
            if let Some(home) = cutting.home {
                match twin {
                    Some(twin) => {
                        tables.leaving.push(tables.leaving[twin].clone());
                        tables.returning.push(tables.returning[twin].clone());
                    }
                    None => {
                        tables.leaving.push(cutting.crossings(home, device));
                        tables.returning.push(cutting.crossings(device, home));
                    }
                }
            } else {
                tables.leaving.push(vec![f64::INFINITY; blocks + 1]);
                tables.returning.push(vec![f64::INFINITY; blocks + 1]);
            }
            let onward = match i {
                0 => vec![f64::INFINITY; blocks + 1],
                // Twins all the way: the same pair of classes as one step before.
                _ if i > 1
                    && twins[cutting.others[i - 2] as usize] == twins[device as usize]
                    && twins[cutting.others[i - 1] as usize] == twins[device as usize] =>
                {
                    tables.onward[i - 1].clone()
                }
                _ => {
                    cutting.timer.spend(each)?;
                    cutting.crossings(cutting.others[i - 1], device)
                }
            };
            tables.onward.push(onward);
        }
        tables.devices = devices;
        Ok(tables)
    }
}

/// For each place, the end of the longest segment from there that fits a device.
fn reach(cutting: &Cutting<'_>, device: u16) -> Vec<u32> {
    let (problem, blocks) = (cutting.problem, &cutting.blocks);
    let mut fill = Fill::with_fixed(problem, cutting.share);
    let counts = |unit: u32| {
        let allowed = &problem.units[unit as usize].allowed;
        allowed.len() > 1 && allowed.contains(&device)
    };
    let mut end = 0;
    let mut reach = Vec::with_capacity(blocks.len());
    for begin in 0..blocks.len() {
        end = end.max(begin);
        while end < blocks.len() {
            for &unit in blocks[end].iter().filter(|&&u| counts(u)) {
                fill.put(problem, unit as usize, device.into());
            }
            if fill.used(device.into()) > fill.limit(device.into()) {
                for &unit in blocks[end].iter().filter(|&&u| counts(u)) {
                    fill.take(problem, unit as usize, device.into());
                }
                break;
            }
            end += 1;
        }
        reach.push(end as u32);
        if end > begin {
            for &unit in blocks[begin].iter().filter(|&&u| counts(u)) {
                fill.take(problem, unit as usize, device.into());
            }
        }
    }
    reach
}
