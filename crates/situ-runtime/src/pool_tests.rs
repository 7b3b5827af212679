//! Properties of pools under long sequences of requests.

use super::*;
use situ_core::DeviceId;
use situ_device::{Device, Open};

const MIB: usize = 1 << 20;

fn opened() -> Arc<dyn Device> {
    let how = Open { id: DeviceId::CPU0, cores: None, threads: Some(1), budget: Budget::new(None) };
    situ_cpu::physical().open(&how).expect("the CPU opens")
}

/// A pool under test, and what lives in it.
struct Trial {
    device: Arc<dyn Device>,
    pool: Pool,
    live: Vec<Allocation>,
    /// What lives for good.
    kept: Vec<Allocation>,
    seed: u64,
}

impl Trial {
    fn new(seed: u64) -> Trial {
        let device = opened();
        let pool = Pool::new(Budget::new(None), device.alignment(), device.max_block(), true);
        Trial { device, pool, live: Vec::new(), kept: Vec::new(), seed: seed + 1 }
    }

    fn next(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 33) as usize % below.max(1)
    }

    /// A size between the two, each order of magnitude as likely as another.
    fn size(&mut self, least: usize, most: usize) -> usize {
        let bits = (most / least).max(2).ilog2() as usize;
        let start = least << self.next(bits);
        start + self.next(start)
    }

    fn take(&mut self, bytes: usize) {
        let taken = self.pool.allocate(&*self.device, bytes, "trial").expect("there is no limit");
        assert!(taken.bytes >= bytes);
        self.live.push(taken);
        self.check(bytes);
    }

    fn drop_one(&mut self) {
        if !self.live.is_empty() {
            let at = self.next(self.live.len());
            let gone = self.live.swap_remove(at);
            self.pool.free(&gone);
            self.check(0);
        }
    }

    fn drop_all(&mut self) {
        while !self.live.is_empty() {
            self.drop_one();
        }
    }

    fn check(&mut self, bytes: usize) {
        let info = self.pool.info();
        assert_eq!(info.in_use, self.live.iter().chain(&self.kept).map(|a| a.bytes).sum::<usize>());
        let most = 2 * info.peak + 64 * MIB;
        assert!(info.reserved <= most, "a request of {bytes} bytes, and then {info:?}");
    }

    /// No two live pieces share a byte.
    fn check_apart(&self) {
        let mut places: Vec<(usize, usize)> = self
            .live
            .iter()
            .map(|a| (a.block.host().expect("on the host").as_ptr() as usize + a.offset, a.bytes))
            .collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0));
    }
}

#[test]
fn growing_sizes_of_which_one_lives_at_a_time_stay_in_proportion() {
    for (start, step) in
        [(100, 100), (64 << 10, 4096), (8 * MIB, 20 << 10), (20 * MIB, MIB), (500 * MIB, 3 * MIB)]
    {
        let mut trial = Trial::new(1);
        for n in 0..400 {
            trial.take(start + n * step);
            trial.drop_all();
        }
    }
}

#[test]
fn growing_sizes_that_overlap_by_one_and_shrinking_ones_stay_in_proportion() {
    for shrinking in [false, true] {
        let mut trial = Trial::new(2);
        for n in 0..400 {
            let n = if shrinking { 400 - n } else { n };
            trial.take(MIB + n * 100_000);
            if trial.live.len() > 1 {
                let gone = trial.live.remove(0);
                trial.pool.free(&gone);
                trial.check(0);
            }
        }
    }
}

#[test]
fn sawtooths_stay_in_proportion() {
    for unit in [1000, 100_000, 3 * MIB, 30 * MIB] {
        let mut trial = Trial::new(3);
        for round in 1..=20 {
            // Many small ones, then few large ones of the same bytes together.
            for _ in 0..2 * round {
                trial.take(unit * 12 / round);
            }
            let stays = trial.size(64, unit);
            trial.drop_all();
            trial.take(stays);
        }
    }
}

#[test]
fn random_sizes_and_lives_stay_in_proportion() {
    for seed in 0..24 {
        let mut trial = Trial::new(seed);
        let (least, most) =
            [(64, 1 << 30), (64, 1 << 16), (1 << 16, 1 << 25), (1 << 24, 1 << 30)][seed as usize % 4];
        let width = 8 << (seed % 5);
        for n in 0..1500 {
            let bytes = trial.size(least, most);
            trial.take(bytes);
            while trial.live.len() > width {
                trial.drop_one();
            }
            // Now and then nearly everything goes, and a few stay.
            if n % 300 == 299 {
                while trial.live.len() > 3 {
                    trial.drop_one();
                }
            }
            if n % 100 == 0 {
                trial.check_apart();
            }
        }
    }
}

#[test]
fn what_is_small_and_stays_does_not_keep_what_is_large() {
    let mut trial = Trial::new(5);
    for n in 0..300 {
        for bytes in [5 * MIB, 9 * MIB, 40 * MIB] {
            trial.take(bytes + n * 1000);
        }
        trial.take(100);
        trial.kept.extend(trial.live.pop());
        trial.drop_all();
    }
    trial.pool.trim();
    let info = trial.pool.info();
    assert!(info.reserved <= 4 * MIB, "300 tensors of 100 bytes: {info:?}");
}

#[test]
fn a_steady_loop_of_alternating_sizes_asks_the_system_for_nothing_once_it_is_warm() {
    let sizes: [&[usize]; 4] = [
        &[100 * MIB, 150 * MIB, 200 * MIB, 250 * MIB, 300 * MIB],
        &[MIB, 10 * MIB, 100 * MIB, 2 * MIB, 30 * MIB, 60 * MIB],
        &[300 * MIB, 20 * MIB, 17 * MIB, 290 * MIB, 100, 64 * MIB],
        &[3 * MIB, 5 * MIB, 7 * MIB, 11 * MIB, 13 * MIB],
    ];
    for sizes in sizes {
        let mut trial = Trial::new(6);
        let mut taken = Vec::new();
        for round in 0..12 {
            for &bytes in sizes {
                trial.take(bytes);
                trial.drop_all();
            }
            if round >= 6 {
                taken.push(trial.pool.state().blocks.added());
            }
        }
        assert!(taken.windows(2).all(|two| two[0] == two[1]), "{sizes:?}: blocks taken {taken:?}");
    }
}
