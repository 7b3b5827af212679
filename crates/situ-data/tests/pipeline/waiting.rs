//! Whether a program waits for input that is made ahead. Waits are counted, and the two sides go by what the
//! other has done: by no clock.

use crate::numbers;
use situ_data::{Dataset, Iter};
use situ_tensor::{Tensor, with_runtime};
use situ_testkit::machines;
use situ_testkit::simulated::SimulatedGpu;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How many elements a closure has begun to make.
#[derive(Clone, Default)]
struct Begun(Arc<(Mutex<i32>, Condvar)>);

impl Begun {
    fn one_more(&self) {
        *self.0.0.lock().unwrap() += 1;
        self.0.1.notify_all();
    }

    fn wait_for(&self, count: i32) {
        let begun = self.0.0.lock().unwrap();
        let (_begun, timeout) =
            self.0.1.wait_timeout_while(begun, Duration::from_secs(60), |begun| *begun < count).unwrap();
        assert!(!timeout.timed_out(), "nothing is made ahead");
    }
}

const COUNT: i32 = 40;

fn counted(begun: &Begun) -> Dataset<Tensor> {
    let begun = begun.clone();
    numbers(COUNT).map(move |x| {
        begun.one_more();
        Ok(x)
    })
}

/// Steps that take a little longer than their input: each is over when the next element is made and the one
/// after it begun.
fn step_by_step(mut elements: Iter<Tensor>, begun: &Begun) -> (u64, u64) {
    elements.next().unwrap().unwrap();
    let warm = elements.waits();
    for taken in 1..COUNT {
        begun.wait_for((taken + 2).min(COUNT));
        // The last one is made by now, but perhaps not handed over.
        if taken + 1 < COUNT {
            elements.next().unwrap().unwrap();
        }
    }
    (warm, elements.waits())
}

#[test]
fn a_step_never_waits_for_input_that_takes_less_time_than_the_step() {
    let begun = Begun::default();
    let (warm, all) = step_by_step(counted(&begun).prefetch(2).iter(), &begun);
    assert!(warm <= 1, "only the first was not there yet: {warm}");
    assert_eq!(all, warm);
    // The same with a copy to a device between them, whose thread does the waiting.
    with_runtime(&machines::cpu_and(&[&SimulatedGpu::new()]), || {
        let begun = Begun::default();
        let (warm, all) = step_by_step(counted(&begun).prefetch_to_device("/GPU:0").iter(), &begun);
        assert_eq!(all, warm);
    });
}

#[test]
fn waits_for_input_that_takes_longer_are_counted() {
    let slow = numbers(10).map(|x| {
        std::thread::sleep(Duration::from_millis(5));
        Ok(x)
    });
    let mut elements = slow.prefetch(2).iter();
    assert_eq!(elements.by_ref().count(), 10);
    assert!(elements.waits() > 1);
    // Without a stage that makes elements ahead there is nothing to wait for: they are made when they are
    // asked for.
    let mut elements = slow.take(2).iter();
    assert_eq!((elements.by_ref().count(), elements.waits()), (2, 0));
}
