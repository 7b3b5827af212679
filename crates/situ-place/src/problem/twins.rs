//! Devices that can't be told apart: what holds for one of them holds for the others.

use super::{NONE, Problem, Route};

impl Problem {
    /// A class for each device; devices of one class have the same costs, limits and ways to everything else.
    pub(crate) fn twins(&self) -> Vec<u16> {
        let count = self.device_count();
        let mut class = vec![u16::MAX; count];
        for d in 0..count {
            let same = (0..d).find(|&e| class[e] == e as u16 && self.are_twins(e, d));
            class[d] = same.unwrap_or(d) as u16;
        }
        class
    }

    fn are_twins(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.devices[a], &self.devices[b]);
        let count = self.device_count();
        self.kinds[a] == self.kinds[b]
            && x.slots == y.slots
            && x.memory == y.memory
            && self.compute_of[a] == NONE
            && self.compute_of[b] == NONE
            && (0..self.node_count()).all(|n| self.costs[n * count + a] == self.costs[n * count + b])
            && self.units.iter().all(|u| u.allowed.contains(&(a as u16)) == u.allowed.contains(&(b as u16)))
            && self.prices.are_twins(a, b)
            && self.have_twin_links(a as u16, b as u16)
    }

    fn have_twin_links(&self, a: u16, b: u16) -> bool {
        let speed = |from: u16, to: u16| match self.routes.get(from, to) {
            Route::None => None,
            Route::Direct(link) => {
                let link = &self.routes.links[link as usize];
                let shared = self.routes.links.iter().filter(|l| l.channel == link.channel).count() > 1;
                Some((link.latency, link.bandwidth, if shared { link.channel } else { NONE }))
            }
            Route::Via(middle) => Some((-1.0, f64::from(middle), NONE)),
        };
        let others = (0..self.device_count() as u16).filter(|&d| d != a && d != b);
        speed(a, b) == speed(b, a)
            && others.into_iter().all(|d| speed(a, d) == speed(b, d) && speed(d, a) == speed(d, b))
    }
}
