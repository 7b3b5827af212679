//! Minimum cut with a price on memory: two devices at a time, every group on one side or the other.
//!
//! With two devices that never overlap and no limits, the least sum of work and copies is a minimum cut: each
//! group is tied to a side by what it costs on the other, and each tensor, by a node of its own, to its
//! readers, so that a copy is paid once however many read it. A memory limit becomes a price per byte, raised
//! until what stays on the device fits. Several GPUs are filled one after the other from what the CPU side
//! still has.

mod flow;

use super::{Best, Constructive, Timed};
use crate::error::PlaceError;
use crate::fill::Fill;
use crate::orders::by_key;
use crate::placement::Schedule;
use crate::problem::Problem;
use crate::ranks::tails;
use crate::timer::Timer;
use flow::Flow;

/// Larger graphs are left to others: the cut would take longer than all of them.
const MOST_NODES: usize = 3000;
/// How often the price is halved, or doubled, to make the memory fit.
const PRICES: usize = 8;

/// See the module's page.
pub struct Cut;

impl Constructive for Cut {
    fn name(&self) -> &'static str {
        "cut"
    }

    fn effort(&self) -> f64 {
        5.0
    }

    fn schedule(&self, problem: &Problem, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        if problem.node_count() > MOST_NODES {
            let why = format!("{} nodes are too many; {MOST_NODES} at most", problem.node_count());
            return Err(PlaceError::Algorithm { algorithm: "cut".to_owned(), why });
        }
        let mut best = Best::default();
        let twins = problem.twins();
        let firsts = (0..problem.device_count() as u16).filter(|&d| twins[d as usize] == d);
        for home in firsts {
            best.offer(Self::from_home(problem, home, share, timer));
            if timer.is_over() {
                break;
            }
        }
        best.get(Constructive::name(self))
    }
}

impl Cut {
    /// Everything at home, then each other device takes the best cut of what is still there.
    fn from_home(problem: &Problem, home: u16, share: f64, timer: &Timer) -> Result<Timed, PlaceError> {
        let mut of_unit: Vec<u16> = problem.units.iter().map(|u| first_choice(&u.allowed, home)).collect();
        for device in (0..problem.device_count() as u16).filter(|&d| d != home) {
            if let Some(side) = priced_cut(problem, &of_unit, home, device, share, timer)? {
                for (unit, _) in side.iter().enumerate().filter(|(_, there)| **there) {
                    of_unit[unit] = device;
                }
            }
        }
        let devices: Vec<u16> = problem.nodes.iter().map(|n| of_unit[n.unit as usize]).collect();
        let tails = tails(problem, &devices);
        let order = by_key(problem, |n| tails[n] + problem.seconds(n, devices[n].into()));
        Timed::new(problem, Schedule { devices, order }, timer)
    }
}

fn first_choice(allowed: &[u16], home: u16) -> u16 {
    if allowed.contains(&home) { home } else { allowed.first().copied().unwrap_or(0) }
}

/// Which of the groups at home go to a device: the cheapest cut whose groups fit its memory.
fn priced_cut(
    problem: &Problem,
    of_unit: &[u16],
    home: u16,
    device: u16,
    share: f64,
    timer: &Timer,
) -> Result<Option<Vec<bool>>, PlaceError> {
    let bytes = |side: &[bool]| {
        let mut fill = Fill::new(problem);
        for (unit, &there) in side.iter().enumerate() {
            if there || of_unit[unit] == device {
                fill.put(problem, unit, device.into());
            }
        }
        fill.used(device.into())
    };
    let limit = problem.limit(device.into()) * share;
    let free = cut(problem, of_unit, home, device, 0.0, timer)?;
    if bytes(&free) <= limit {
        return Ok(Some(free));
    }
    // A price at which a byte costs as much as the work that could be saved, and then by halves.
    let work: f64 = (0..problem.node_count()).map(|n| finite(problem.seconds(n, home.into()))).sum();
    let (mut low, mut high) = (0.0, work / (limit / PRICES as f64).max(1.0));
    let mut found = None;
    for _ in 0..PRICES {
        let price = if found.is_none() && low > 0.0 { high * 4.0 } else { f64::midpoint(low, high) };
        high = high.max(price);
        let side = cut(problem, of_unit, home, device, price, timer)?;
        if bytes(&side) <= limit {
            high = price;
            found = Some(side);
        } else {
            low = price;
        }
    }
    Ok(found)
}

fn finite(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds } else { 0.0 }
}

/// The least sum of work, copies and priced bytes; true for the groups on the device's side.
fn cut(
    problem: &Problem,
    of_unit: &[u16],
    home: u16,
    device: u16,
    price: f64,
    timer: &Timer,
) -> Result<Vec<bool>, PlaceError> {
    // The network is built of some dozens of small lists for each node and edge.
    timer.spend(20 * (problem.units.len() + problem.node_count() + problem.edges.len()))?;
    let units = problem.units.len();
    let (source, sink) = (units, units + 1);
    let mut flow = Flow::new(units + 2);
    for (u, unit) in problem.units.iter().enumerate() {
        let may = of_unit[u] == home && unit.allowed.contains(&device);
        // The side of the source is home. Being away costs the edge to the source, being at home the one to
        // the sink.
        if !may {
            let end = if of_unit[u] == device { (u, sink) } else { (source, u) };
            flow.edge(end.0, end.1, f64::INFINITY, 0.0);
            continue;
        }
        let work = |d: u16| unit.members.iter().map(|&n| problem.seconds(n as usize, d.into())).sum::<f64>();
        let held = |n: &u32| {
            let residents =
                problem.uses.row(*n as usize).iter().map(|&r| problem.residents[r as usize].bytes);
            problem.nodes[*n as usize].memory + residents.sum::<f64>()
        };
        let bytes: f64 = unit.members.iter().map(held).sum();
        flow.edge(source, u, work(device) + price * bytes, 0.0);
        flow.edge(u, sink, work(home), 0.0);
    }
    for node in 0..problem.node_count() {
        let Some(&first) = problem.out_edges.row(node).first() else { continue };
        let from = problem.nodes[node].unit as usize;
        let readers: Vec<usize> = problem
            .outs(node)
            .map(|e| problem.nodes[e.to as usize].unit as usize)
            .filter(|&u| u != from)
            .collect();
        if readers.is_empty() {
            continue;
        }
        let (out, back) = (problem.edge_copy(first, home, device), problem.edge_copy(first, device, home));
        // Made at home and read away: paid once through a node that is away as soon as one reader is.
        let away = flow.node();
        flow.edge(from, away, out, 0.0);
        // Made away and read at home: through a node that is at home as soon as one reader is.
        let at_home = flow.node();
        flow.edge(at_home, from, back, 0.0);
        for reader in readers {
            flow.edge(away, reader, f64::INFINITY, 0.0);
            flow.edge(reader, at_home, f64::INFINITY, 0.0);
        }
    }
    let reached = flow.reached_after_max_flow(source, sink, timer)?;
    let goes = |u: usize| !reached[u] && of_unit[u] == home && problem.units[u].allowed.contains(&device);
    Ok((0..units).map(goes).collect())
}
