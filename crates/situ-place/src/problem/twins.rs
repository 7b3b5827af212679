//! Devices that can't be told apart: what holds for one of them holds for the others.

use super::{NONE, Problem, Route};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

impl Problem {
    /// A class for each device; devices of one class have the same costs, limits and ways to everything else.
    pub(crate) fn twins(&self) -> Vec<u16> {
        let links = Links::of(self);
        // Only devices that look alike are compared, each with one of every class.
        let mut alike: HashMap<u64, Vec<u16>> = HashMap::new();
        let looks = (0..self.device_count()).map(|d| self.look(&links, d as u16));
        let looks: Vec<u64> = looks.collect();
        let mut class = Vec::with_capacity(looks.len());
        for (d, look) in (0u16..).zip(looks) {
            let firsts = alike.entry(look).or_default();
            let same = firsts.iter().copied().find(|&e| self.are_twins(&links, e, d));
            if same.is_none() {
                firsts.push(d);
            }
            class.push(same.unwrap_or(d));
        }
        class
    }

    /// A number that twins have in common, and other devices seldom.
    fn look(&self, links: &Links<'_>, d: u16) -> u64 {
        let (at, count) = (usize::from(d), self.device_count());
        let mut look = DefaultHasher::new();
        let device = &self.devices[at];
        (&self.kinds[at], device.slots, device.memory.map(f64::to_bits)).hash(&mut look);
        if self.compute_of[at] != NONE {
            // A device that shares its computing is nobody's twin.
            d.hash(&mut look);
        }
        self.costs.iter().skip(at).step_by(count).for_each(|cost| cost.to_bits().hash(&mut look));
        // Ways of twins differ in which of them is meant, so that only their number of each sort can be compared: a sum of hashes.
        let mut ways = 0u64;
        for other in (0..count as u16).filter(|&other| other != d) {
            for (to, way) in [(true, links.way(d, other)), (false, links.way(other, d))] {
                let mut one = DefaultHasher::new();
                (to, way.map(|(latency, bandwidth, _)| (latency.to_bits(), bandwidth.to_bits())))
                    .hash(&mut one);
                ways = ways.wrapping_add(one.finish());
            }
        }
        ways.hash(&mut look);
        look.finish()
    }

    fn are_twins(&self, links: &Links<'_>, a: u16, b: u16) -> bool {
        let (x, y) = (&self.devices[usize::from(a)], &self.devices[usize::from(b)]);
        let (a_at, b_at, count) = (usize::from(a), usize::from(b), self.device_count());
        self.kinds[a_at] == self.kinds[b_at]
            && x.slots == y.slots
            && x.memory == y.memory
            && self.compute_of[a_at] == NONE
            && self.compute_of[b_at] == NONE
            && (0..self.node_count()).all(|n| self.costs[n * count + a_at] == self.costs[n * count + b_at])
            && links.allowed.iter().all(|list| list.contains(&a) == list.contains(&b))
            && self.prices.are_twins(a_at, b_at)
            && links.are_twins(a, b, count as u16)
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
