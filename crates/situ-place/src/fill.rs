//! The bytes that stay on each device for the whole step, as groups are put there and taken away.

use crate::error::{MemoryShortage, PlaceError};
use crate::problem::{Problem, Unit};

/// Counts what nodes hold and the resident tensors that they use; a resident counts once per device.
#[derive(Clone)]
pub(crate) struct Fill {
    used: Vec<f64>,
    limits: Vec<f64>,
    /// Device × resident → users there.
    users: Vec<u32>,
    residents: usize,
    unit_bytes: Vec<f64>,
    /// Unit → residents, with the number of members that use each.
    unit_uses: Vec<Vec<(u32, u32)>>,
}

impl Fill {
    pub(crate) fn new(problem: &Problem) -> Fill {
        let residents = problem.residents.len();
        let mut unit_bytes = vec![0.0; problem.units.len()];
        let mut unit_uses: Vec<Vec<(u32, u32)>> = vec![Vec::new(); problem.units.len()];
        for (node, row) in problem.nodes.iter().enumerate() {
            let unit = row.unit as usize;
            unit_bytes[unit] += row.memory;
            for &r in problem.uses.row(node) {
                match unit_uses[unit].iter_mut().find(|u| u.0 == r) {
                    Some(uses) => uses.1 += 1,
                    None => unit_uses[unit].push((r, 1)),
                }
            }
        }
        let devices = problem.device_count();
        Fill {
            used: vec![0.0; devices],
            limits: (0..devices).map(|d| problem.limit(d)).collect(),
            users: vec![0; devices * residents],
            residents,
            unit_bytes,
            unit_uses,
        }
    }

    /// Starts with the groups that have one device only, so that nothing else takes their place; the others
    /// may fill this share of each memory.
    pub(crate) fn with_fixed(problem: &Problem, share: f64) -> Fill {
        let mut fill = Fill::new(problem);
        fill.limits.iter_mut().for_each(|limit| *limit *= share);
        for (unit, row) in problem.units.iter().enumerate() {
            if let [device] = row.allowed[..] {
                fill.put(problem, unit, device.into());
            }
        }
        fill
    }

    pub(crate) fn used(&self, device: usize) -> f64 {
        self.used[device]
    }

    /// How much of a device's memory may be filled.
    pub(crate) fn limit(&self, device: usize) -> f64 {
        self.limits[device]
    }

    /// What a unit would add to a device.
    #[inline]
    pub(crate) fn added(&self, problem: &Problem, unit: usize, device: usize) -> f64 {
        let mut bytes = self.unit_bytes[unit];
        for &(r, _) in &self.unit_uses[unit] {
            if self.users[device * self.residents + r as usize] == 0 {
                bytes += problem.residents[r as usize].bytes;
            }
        }
        bytes
    }

    #[inline]
    pub(crate) fn fits(&self, problem: &Problem, unit: usize, device: usize) -> bool {
        let added = self.added(problem, unit, device);
        added <= 0.0 || self.used[device] + added <= self.limits[device]
    }

    #[inline]
    pub(crate) fn put(&mut self, problem: &Problem, unit: usize, device: usize) {
        self.used[device] += self.added(problem, unit, device);
        for &(r, count) in &self.unit_uses[unit] {
            self.users[device * self.residents + r as usize] += count;
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, problem: &Problem, unit: usize, device: usize) {
        for &(r, count) in &self.unit_uses[unit] {
            self.users[device * self.residents + r as usize] -= count;
        }
        self.used[device] -= self.added(problem, unit, device);
    }

    /// The error of a unit that fits none of its devices.
    pub(crate) fn shortage(&self, problem: &Problem, unit: usize) -> PlaceError {
        let missing = |d: u16| {
            self.used[d as usize] + self.added(problem, unit, d as usize)
                - problem.devices[d as usize].memory.unwrap_or(f64::INFINITY)
        };
        let choices = problem.units[unit].allowed.iter().copied();
        let tightest = choices.min_by(|&a, &b| missing(a).total_cmp(&missing(b))).unwrap_or(0);
        let limit = problem.devices[tightest as usize].memory.unwrap_or(f64::INFINITY);
        PlaceError::Memory(Box::new(MemoryShortage {
            devices: vec![problem.devices[tightest as usize].name.clone()],
            limit,
            needed: limit + missing(tightest),
            what: problem.name_of(problem.units[unit].members[0] as usize).to_string(),
        }))
    }
}

/// The memory constraint that no placement can meet, if there is one: a group that is larger than every
/// device it may run on, or groups that are larger than all their devices together; of several, the one that
/// is missed by most.
pub(crate) fn impossible(problem: &Problem) -> Option<PlaceError> {
    let fill = Fill::new(problem);
    let mut sets: Vec<&[u16]> = problem.units.iter().map(|u| &u.allowed[..]).collect();
    sets.sort_unstable();
    sets.dedup();
    let mut worst: Option<MemoryShortage> = None;
    let mut offer = |short: MemoryShortage| {
        if short.missing() > 0.0 && worst.as_ref().is_none_or(|w| short.missing() > w.missing()) {
            worst = Some(short);
        }
    };
    for (unit, row) in problem.units.iter().enumerate() {
        let nowhere = row.allowed.iter().all(|&d| !fill.fits(problem, unit, d.into()));
        if let PlaceError::Memory(short) = fill.shortage(problem, unit)
            && nowhere
        {
            offer(*short);
        }
    }
    for set in sets {
        let limit: f64 = set.iter().map(|&d| problem.limit(d.into())).sum();
        let inside = |u: &&Unit| u.allowed.iter().all(|d| set.binary_search(d).is_ok());
        let mut bytes = 0.0;
        let mut used = vec![false; problem.residents.len()];
        for &node in problem.units.iter().filter(inside).flat_map(|u| &u.members) {
            bytes += problem.nodes[node as usize].memory;
            problem.uses.row(node as usize).iter().for_each(|&r| used[r as usize] = true);
        }
        let residents = used.iter().zip(&problem.residents).filter(|(used, _)| **used);
        bytes += residents.map(|(_, r)| r.bytes).sum::<f64>();
        if bytes > limit {
            let devices: Vec<String> =
                set.iter().map(|&d| problem.devices[d as usize].name.clone()).collect();
            let limit = set.iter().filter_map(|&d| problem.devices[d as usize].memory).sum();
            let what = "what stays for the whole step".to_owned();
            offer(MemoryShortage { devices, limit, needed: bytes, what });
        }
    }
    worst.map(|short| PlaceError::Memory(Box::new(short)))
}
