//! Maximum flow (Dinic), and the side of the minimum cut.

use crate::error::PlaceError;
use crate::timer::Timer;
use std::collections::VecDeque;

struct Edge {
    to: u32,
    /// The place of the edge back.
    back: u32,
    left: f64,
}

pub(super) struct Flow {
    edges: Vec<Vec<Edge>>,
    level: Vec<u32>,
    next: Vec<u32>,
}

const UNREACHED: u32 = u32::MAX;
/// What is left of a rounded sum counts as nothing.
const NOTHING: f64 = 1e-15;

impl Flow {
    pub(super) fn new(nodes: usize) -> Flow {
        let edges = (0..nodes).map(|_| Vec::new()).collect();
        Flow { edges, level: Vec::new(), next: Vec::new() }
    }

    /// One more node.
    pub(super) fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    /// An edge with a capacity each way.
    pub(super) fn edge(&mut self, from: usize, to: usize, capacity: f64, back: f64) {
        let (a, b) = (self.edges[from].len() as u32, self.edges[to].len() as u32);
        self.edges[from].push(Edge { to: to as u32, back: b, left: capacity });
        self.edges[to].push(Edge { to: from as u32, back: a, left: back });
    }

    /// Fills the network; true for what the source still reaches.
    pub(super) fn reached_after_max_flow(
        &mut self,
        source: usize,
        sink: usize,
        timer: &Timer,
    ) -> Result<Vec<bool>, PlaceError> {
        while self.find_levels(source, sink) {
            timer.spend(8 * self.edges.len())?;
            self.next = vec![0; self.edges.len()];
            while self.push(source, sink, timer)? {}
        }
        Ok(self.level.iter().map(|&level| level != UNREACHED).collect())
    }

    fn find_levels(&mut self, source: usize, sink: usize) -> bool {
        self.level = vec![UNREACHED; self.edges.len()];
        self.level[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for edge in &self.edges[node] {
                if edge.left > NOTHING && self.level[edge.to as usize] == UNREACHED {
                    self.level[edge.to as usize] = self.level[node] + 1;
                    queue.push_back(edge.to as usize);
                }
            }
        }
        self.level[sink] != UNREACHED
    }

    /// One path from source to sink along the levels; says whether there was one.
    fn push(&mut self, source: usize, sink: usize, timer: &Timer) -> Result<bool, PlaceError> {
        let mut path: Vec<(usize, usize)> = Vec::new();
        let mut node = source;
        while node != sink {
            timer.spend(2)?;
            let at = self.next[node] as usize;
            match self.edges[node].get(at) {
                Some(edge) => {
                    let to = edge.to as usize;
                    if edge.left > NOTHING && self.level[to] == self.level[node] + 1 {
                        path.push((node, at));
                        node = to;
                    } else {
                        self.next[node] += 1;
                    }
                }
                None => {
                    // A dead end: back, and past the edge that led here.
                    let Some((before, _)) = path.pop() else { return Ok(false) };
                    self.next[before] += 1;
                    node = before;
                }
            }
        }
        let most = path.iter().map(|&(n, e)| self.edges[n][e].left).fold(f64::INFINITY, f64::min);
        if most == f64::INFINITY {
            // No finite cut: nothing to decide.
            return Ok(false);
        }
        for (n, e) in path {
            let (to, back) = (self.edges[n][e].to as usize, self.edges[n][e].back as usize);
            self.edges[n][e].left -= most;
            self.edges[to][back].left += most;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_the_cheapest_set_of_edges() {
        // 0 is the source, 3 the sink; the cheapest cut is 0-1 and 2-3.
        let mut flow = Flow::new(4);
        for (from, to, capacity) in [(0, 1, 2.0), (0, 2, 9.0), (1, 3, 9.0), (2, 3, 3.0), (1, 2, 5.0)] {
            flow.edge(from, to, capacity, 0.0);
        }
        assert_eq!(flow.reached_after_max_flow(0, 3, &Timer::never()).unwrap(), [true, false, true, false]);
    }
}
