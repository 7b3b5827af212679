//! The way a copy takes between two devices: a link, or two links through a CPU where there is no direct one.

use super::NONE;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkRow {
    pub from: u16,
    pub to: u16,
    pub latency: f64,
    pub bandwidth: f64,
    /// Copies on links of the same channel do not overlap.
    pub channel: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Route {
    None,
    /// The number of the link.
    Direct(u32),
    /// Through this device.
    Via(u16),
}

#[derive(Clone, Default)]
pub(crate) struct Routes {
    devices: usize,
    pub links: Vec<LinkRow>,
    pub channels: usize,
    smallest: f64,
    table: Vec<Route>,
    /// Latency and seconds per byte of the whole way.
    speed: Vec<(f64, f64)>,
    /// The least latency and the least seconds per byte of any way that the model allows.
    floor: Vec<(f64, f64)>,
}

impl Routes {
    /// `typical` is the size for which the better of several CPUs is chosen on the way; `smallest` is the
    /// least that any edge carries.
    pub(crate) fn new(
        devices: usize,
        links: Vec<LinkRow>,
        channels: usize,
        cpus: &[u16],
        typical: f64,
        smallest: f64,
    ) -> Routes {
        let mut direct = vec![NONE; devices * devices];
        for (i, link) in links.iter().enumerate() {
            direct[link.from as usize * devices + link.to as usize] = i as u32;
        }
        let mut table = vec![Route::None; devices * devices];
        let mut speed = vec![(0.0, f64::INFINITY); devices * devices];
        let mut floor = vec![(f64::INFINITY, f64::INFINITY); devices * devices];
        let of = |a: usize, b: usize| {
            let link = direct[a * devices + b];
            (link != NONE).then(|| &links[link as usize])
        };
        for a in 0..devices {
            let ups: Vec<(u16, &LinkRow)> =
                cpus.iter().filter_map(|&c| Some((c, of(a, c.into())?))).collect();
            for b in (0..devices).filter(|&b| b != a) {
                let at = a * devices + b;
                if let Some(link) = of(a, b) {
                    table[at] = Route::Direct(direct[at]);
                    speed[at] = (link.latency, 1.0 / link.bandwidth);
                    floor[at] = speed[at];
                    continue;
                }
                let mut best = f64::INFINITY;
                for &(c, up) in ups.iter().filter(|&&(c, _)| c as usize != a && c as usize != b) {
                    let Some(down) = of(c as usize, b) else { continue };
                    let way = (up.latency + down.latency, 1.0 / up.bandwidth + 1.0 / down.bandwidth);
                    floor[at] = (floor[at].0.min(way.0), floor[at].1.min(way.1));
                    let seconds = way.0 + typical * way.1;
                    if seconds < best {
                        best = seconds;
                        table[at] = Route::Via(c);
                        speed[at] = way;
                    }
                }
            }
        }
        Routes { devices, links, channels, smallest, table, speed, floor }
    }

    /// Per channel, just less than any copy on it takes.
    pub(crate) fn shortest_copies(&self) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; self.channels];
        for link in &self.links {
            let seconds = link.latency + self.smallest / link.bandwidth;
            let least = &mut least[link.channel as usize];
            *least = least.min(seconds * (1.0 - 1e-9));
        }
        least
    }

    /// The ways that are the slowest for some number of bytes, in latency and seconds per byte: no way is
    /// slower than all of them.
    pub(crate) fn slowest(&self) -> Vec<(f64, f64)> {
        let mut slowest: Vec<(f64, f64)> = Vec::new();
        let is_way = |at: &usize| self.table[*at] != Route::None;
        for way in (0..self.table.len()).filter(is_way).map(|at| self.speed[at]) {
            if slowest.iter().any(|s| s.0 >= way.0 && s.1 >= way.1) {
                continue;
            }
            slowest.retain(|s| s.0 > way.0 || s.1 > way.1);
            slowest.push(way);
        }
        slowest
    }

    /// Whether some copy takes time however small it is.
    pub(crate) fn have_latency(&self) -> bool {
        self.links.iter().any(|link| link.latency > 0.0)
    }

    #[inline]
    pub(crate) fn get(&self, from: u16, to: u16) -> Route {
        self.table[from as usize * self.devices + to as usize]
    }

    /// Seconds without contention; infinite where nothing leads there.
    #[inline]
    pub(crate) fn seconds(&self, bytes: f64, from: u16, to: u16) -> f64 {
        let at = from as usize * self.devices + to as usize;
        if self.table[at] == Route::None {
            return f64::INFINITY;
        }
        self.speed[at].0 + bytes * self.speed[at].1
    }

    /// Seconds that no way can beat; infinite where nothing leads there.
    pub(crate) fn least_seconds(&self, bytes: f64, from: u16, to: u16) -> f64 {
        let at = from as usize * self.devices + to as usize;
        if self.table[at] == Route::None {
            return f64::INFINITY;
        }
        self.floor[at].0 + bytes * self.floor[at].1
    }

    /// The link from one device to another, where there is one.
    #[inline]
    pub(crate) fn link(&self, from: u16, to: u16) -> Option<&LinkRow> {
        match self.get(from, to) {
            Route::Direct(link) => Some(&self.links[link as usize]),
            Route::None | Route::Via(_) => None,
        }
    }
}
