//! The incremental simulator against the full one, on random changes of random graphs.

use super::*;
use crate::problem::ProblemBuilder;
use crate::random::Random;
use crate::simulate::simulate_unlimited;
use crate::timer::Timer;
use crate::{Device, algorithms::single};

/// A random problem with slots, compute groups, priced edges or links, and groups.
pub(crate) fn random_problem(seed: u64, most: usize) -> Problem {
    let mut random = Random::new(seed, 99);
    let mut b = ProblemBuilder::new();
    let count = 2 + random.below(4);
    for d in 0..count {
        let name = if d == 0 { "CPU:0".to_owned() } else { format!("GPU:{}", d - 1) };
        let slots = if seed.is_multiple_of(2) { 1 } else { 1 + random.below(3) as u32 };
        let mut device = Device::new(name).slots(slots);
        if random.unit() < 0.2 {
            device = device.compute("chip");
        }
        if d > 0 && random.unit() < 0.4 {
            device = device.memory(1000.0 + random.below(4000) as f64);
        }
        b.device(device);
    }
    let priced = random.unit() < 0.5;
    let through_cpu = random.unit() < 0.3;
    for from in 0..count {
        for to in (0..count).filter(|&to| to != from) {
            if !(through_cpu && from > 0 && to > 0) {
                let shared = (random.unit() < 0.3).then_some("bus");
                b.link(from, to, random.below(3) as f64 * 0.1, 100.0 + random.below(900) as f64, shared);
            }
        }
    }
    let nodes = 1 + random.below(most);
    for _ in 0..nodes {
        let node = b.node("", random.below(200) as f64);
        let work = if random.unit() < 0.25 { 0.0 } else { random.below(50) as f64 * 0.1 };
        for d in 0..count {
            b.cost(node, d, work * (0.2 + random.unit()));
        }
        b.memory(node, random.below(60) as f64);
        if random.unit() < 0.2 {
            b.colocate(node, format!("g{}", random.below(5)));
        }
    }
    for from in 0..nodes {
        let (own, same) = (priced && random.unit() < 0.7, random.unit() < 0.6);
        let price = random.unit();
        let size = random.below(200) as f64;
        let mut seen = Vec::new();
        for _ in 0..random.below(4) {
            let to = from + 1 + random.below(10);
            if to >= nodes || seen.contains(&to) {
                continue;
            }
            seen.push(to);
            if own {
                let price = if same { price } else { random.unit() };
                let pairs: Vec<_> = (0..count)
                    .flat_map(|a| (0..count).filter(move |&c| c != a).map(move |c| (a, c)))
                    .map(|(a, c)| (a, c, price * (1.0 + (a + c) as f64 * 0.1)))
                    .collect();
                b.edge_priced(from, to, &pairs);
            } else {
                b.edge_bytes(from, to, if same { size } else { random.below(200) as f64 });
            }
        }
    }
    b.build().unwrap()
}

#[test]
fn accepted_and_rejected_trials_leave_the_times_of_a_full_simulation() {
    let (mut tried, mut kept, mut wrongly) = (0, 0, 0);
    for seed in 0..300 {
        let problem = random_problem(seed, 120);
        let Ok(mut engine) = Engine::new(&problem, &single::on(&problem, 0)) else { continue };
        let mut random = Random::new(seed, 5);
        for step in 0..60 {
            engine.begin();
            for _ in 0..=random.below(3) {
                let unit = random.below(problem.units.len());
                if let Some(&device) = random.pick(&problem.units[unit].allowed) {
                    engine.set_device(unit, device);
                }
            }
            for _ in 0..random.below(3) {
                let from = random.below(problem.node_count());
                let to = (from + random.below(9)).saturating_sub(4).min(problem.node_count() - 1);
                engine.shift(from, to);
            }
            let before = engine.makespan();
            let cutoff = if random.unit() < 0.5 { before } else { f64::INFINITY };
            let full = simulate(&problem, &engine.schedule()).ok().map(|t| t.makespan);
            let found = engine.evaluate(cutoff);
            tried += 1;
            match found {
                Some(makespan) => {
                    assert_eq!(Some(makespan), full, "seed {seed} step {step}");
                    if random.unit() < 0.7 {
                        engine.accept();
                        kept += 1;
                    } else {
                        engine.reject();
                    }
                }
                None => {
                    // Where slots are shared out anew, a good trial may be refused.
                    let exact = problem.devices.iter().all(|d| d.slots == 1);
                    let over = !exact || full.is_none_or(|m| m > cutoff * (1.0 - 1e-9)) || !engine.fits();
                    wrongly += u32::from(full.is_some_and(|m| m < cutoff * (1.0 - 1e-9)) && engine.fits());
                    assert!(over, "seed {seed} step {step}: {full:?} was refused at {cutoff}");
                    engine.reject();
                }
            }
            let timeline = simulate_unlimited(&problem, &engine.schedule()).unwrap();
            assert_eq!(timeline.start, engine.start, "seed {seed} step {step}");
            assert_eq!(timeline.finish, engine.finish, "seed {seed} step {step}");
            assert_eq!(
                engine.tail,
                crate::ranks::tails(&problem, &engine.devices),
                "seed {seed} step {step}"
            );
        }
    }
    assert!(wrongly < tried / 50, "{wrongly} of {tried} refused that were good");
    assert!(tried > 10_000 && kept > 2_000, "{tried} tried, {kept} kept");
}

#[test]
fn another_schedule_with_the_same_beginning_is_timed_to_its_end() {
    let mut b = ProblemBuilder::new();
    let devices = [b.device(Device::new("CPU:0")), b.device(Device::new("GPU:0"))];
    // Independent nodes, so many that the first marks of both schedules are the same.
    for _ in 0..4 * STRIDE {
        let node = b.node("", 0.0);
        b.cost(node, devices[0], 1.0);
        b.cost(node, devices[1], 2.0);
    }
    let problem = b.build().unwrap();
    let on_one = single::on(&problem, 0);
    let mut at_the_end = on_one.clone();
    let last = at_the_end.order[4 * STRIDE - 1] as usize;
    at_the_end.devices[last] = 1;
    let timed = |schedule: &Schedule| Timed::new(&problem, schedule.clone(), &Timer::never()).unwrap();
    let mut engine = Engine::timed(&problem, &timed(&on_one));
    engine.load(&timed(&at_the_end));
    assert_eq!(engine.finish, simulate_unlimited(&problem, &at_the_end).unwrap().finish);
}
