//! Devices that can't be told apart: what holds for one of them holds for the others.

use super::{NONE, Problem, Route};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

impl Problem {
    /// A class for each device; devices of one class have the same costs, limits and ways to everything else.
    pub(crate) fn twins(&self) -> &[u16] {
        self.twins.get_or_init(|| self.find_twins())
    }

    fn find_twins(&self) -> Vec<u16> {
        let links = Links::of(self);
        // Only devices that look alike are compared, each with one of every class.
        let mut alike: HashMap<u64, Vec<u16>> = HashMap::new();
        let costs = Costs::of(self);
        let looks = (0u16..).zip(&costs.looks).map(|(d, &look)| self.look(&links, d, look));
        let looks: Vec<u64> = looks.collect();
        let mut class = Vec::with_capacity(looks.len());
        for (d, look) in (0u16..).zip(looks) {
            let firsts = alike.entry(look).or_default();
            let same = firsts.iter().copied().find(|&e| self.are_twins(&links, &costs, e, d));
            if same.is_none() {
                firsts.push(d);
            }
            class.push(same.unwrap_or(d));
        }
        class
    }

    /// A number that twins have in common, and other devices seldom.
    fn look(&self, links: &Links<'_>, d: u16, costs: u64) -> u64 {
        let (at, count) = (usize::from(d), self.device_count());
        let mut look = DefaultHasher::new();
        let device = &self.devices[at];
        (&self.kinds[at], device.slots, device.memory.map(f64::to_bits)).hash(&mut look);
        if self.compute_of[at] != NONE {
            // A device that shares its computing is nobody's twin.
            d.hash(&mut look);
        }
        costs.hash(&mut look);
        // Ways of twins differ in which of them is meant, so that only their number of each sort can be
        // compared: a sum of hashes.
        let mut ways = 0u64;
        for other in (0..count as u16).filter(|&other| other != d) {
            for (to, way) in [(1, links.way(d, other)), (2, links.way(other, d))] {
                let one = way.map_or(to, |w| mix(mix(to, w.0.to_bits()), w.1.to_bits()));
                ways = ways.wrapping_add(mix(one, 0));
            }
        }
        ways.hash(&mut look);
        look.finish()
    }

    fn are_twins(&self, links: &Links<'_>, costs: &Costs, a: u16, b: u16) -> bool {
        let (x, y) = (&self.devices[usize::from(a)], &self.devices[usize::from(b)]);
        let (a_at, b_at, count) = (usize::from(a), usize::from(b), self.device_count());
        self.kinds[a_at] == self.kinds[b_at]
            && x.slots == y.slots
            && x.memory == y.memory
            && self.compute_of[a_at] == NONE
            && self.compute_of[b_at] == NONE
            && costs.are_same(self, a_at, b_at)
            && links.allowed.iter().all(|list| list.contains(&a) == list.contains(&b))
            && self.prices.are_twins(a_at, b_at)
            && links.are_twins(a, b, count as u16)
    }
}

/// A number that depends on two, and on all their bits.
fn mix(a: u64, b: u64) -> u64 {
    // An odd number with about as many ones as zeros.
    let product = u128::from(a.rotate_left(23) ^ b ^ 0x9e37_79b9_7f4a_7c15) * 0xd1b5_4a32_d192_ed03;
    (product >> 64) as u64 ^ product as u64
}

/// What devices cost, compared row by row as the costs lie in memory: column by column it would take many
/// times as long.
struct Costs {
    /// Per device a number that follows from its costs.
    looks: Vec<u64>,
    /// The first device whose costs look the same, and whether they are.
    first: Vec<usize>,
    is_same: Vec<bool>,
}

impl Costs {
    fn of(problem: &Problem) -> Costs {
        let count = problem.device_count();
        let rows = || problem.costs.chunks_exact(count.max(1));
        let mut looks = vec![0; count];
        for row in rows() {
            looks.iter_mut().zip(row).for_each(|(look, cost)| *look = mix(*look, cost.to_bits()));
        }
        let mut seen: HashMap<u64, usize> = HashMap::new();
        let first: Vec<usize> = (0..count).map(|d| *seen.entry(looks[d]).or_insert(d)).collect();
        let mut is_same = vec![true; count];
        for row in rows() {
            for (d, same) in is_same.iter_mut().enumerate() {
                *same &= row[d] == row[first[d]];
            }
        }
        Costs { looks, first, is_same }
    }

    fn are_same(&self, problem: &Problem, a: usize, b: usize) -> bool {
        if self.is_same[a] && self.is_same[b] {
            return self.first[a] == self.first[b];
        }
        let count = problem.device_count();
        (0..problem.node_count()).all(|n| problem.costs[n * count + a] == problem.costs[n * count + b])
    }
}

/// The ways between devices, with what is asked of them often counted once.
struct Links<'p> {
    problem: &'p Problem,
    /// How many links each channel has.
    on_channel: Vec<u32>,
    /// The lists of devices that units may run on, each once.
    allowed: Vec<&'p [u16]>,
}

impl<'p> Links<'p> {
    fn of(problem: &'p Problem) -> Links<'p> {
        let links = &problem.routes.links;
        let mut on_channel = vec![0; links.iter().map(|l| l.channel as usize + 1).max().unwrap_or(0)];
        links.iter().for_each(|l| on_channel[l.channel as usize] += 1);
        let mut seen = HashSet::new();
        let lists = problem.units.iter().map(|u| &*u.allowed).filter(|list| seen.insert(list.as_ptr()));
        Links { problem, on_channel, allowed: lists.collect() }
    }

    /// Latency, bandwidth and, where links share one, the channel.
    fn way(&self, from: u16, to: u16) -> Option<(f64, f64, u32)> {
        match self.problem.routes.get(from, to) {
            Route::None => None,
            Route::Direct(link) => {
                let link = &self.problem.routes.links[link as usize];
                let shared = self.on_channel[link.channel as usize] > 1;
                Some((link.latency, link.bandwidth, if shared { link.channel } else { NONE }))
            }
            Route::Via(middle) => Some((-1.0, f64::from(middle), NONE)),
        }
    }

    fn are_twins(&self, a: u16, b: u16, count: u16) -> bool {
        self.way(a, b) == self.way(b, a)
            && (0..count)
                .filter(|&d| d != a && d != b)
                .all(|d| self.way(a, d) == self.way(b, d) && self.way(d, a) == self.way(d, b))
    }
}
