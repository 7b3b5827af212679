//! Elements made ahead by a thread, in the host's memory or on a device.
//!
//! To a device: while the program uses one element, the next is copied. No more than `ahead` elements are on
//! the device, or on their way to it, beyond the one that the program has.

use crate::cell::{Cell, Part};
use crate::fingerprint::Fingerprint;
use crate::queue::Queue;
use crate::stages::map::ClosureScope;
use crate::stop::Stop;
use crate::stream::{Context, Item, Length, Once, Stage, Stream};
use crate::threads::{Threads, guarded};
use situ_core::Result;
use std::sync::Arc;

pub(crate) struct Prefetch {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) ahead: usize,
    /// The device to copy to, by name.
    pub(crate) device: Option<Arc<str>>,
    pub(crate) closure_scope: ClosureScope,
}

impl Stage for Prefetch {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        let queue = Queue::new(self.ahead, context);
        let stop = context.stop.part();
        let mut ahead = Ahead { queue: queue.clone(), stop: stop.clone(), threads: Threads::default() };
        let mut from = self.from.open(&Context { stop, waits: Arc::default(), ..context.clone() });
        let device = self.device.clone();
        let closure_scope = self.closure_scope.or_on(&context.host);
        let started = ahead.threads.start(context, move || {
            // Stages catch what closures do. Should one panic all the same, the consumer is told rather than
            // left to wait.
            let ran = guarded("prefetch", || {
                match &device {
                    None => run(&mut *from, &queue),
                    Some(device) => closure_scope.enter(|| run_to_device(&mut *from, &queue, device)),
                }
                Ok(())
            });
            if let Err(error) = ran {
                queue.push(&mut vec![Err(error)]);
            }
            queue.end();
        });
        match started {
            Ok(()) => Box::new(ahead),
            Err(error) => Box::new(Once(Some(Err(error)))),
        }
    }

    fn length(&self) -> Length {
        self.from.length()
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
    }
}

fn run(from: &mut dyn Stream, queue: &Queue) {
    let mut made = Vec::new();
    while let Some(room) = queue.wait_for_room() {
        // In small lots, so that the first is there soon.
        from.fill(room.div_ceil(4).min(64), &mut made);
        if made.is_empty() {
            return;
        }
        queue.push(&mut made);
    }
}

fn run_to_device(from: &mut dyn Stream, queue: &Queue, device: &str) {
    let mut made = Vec::new();
    loop {
        from.fill(1, &mut made);
        // Room first: it stands for memory on the device.
        if made.is_empty() || queue.wait_for_room().is_none() {
            return;
        }
        for item in &mut made {
            if let Ok(cell) = item {
                let origin = cell.origin;
                let moved = moved(cell, device).map_err(|e| e.of_element("prefetch_to_device", origin));
                *item = moved;
            }
        }
        queue.push(&mut made);
    }
}

fn moved(cell: &Cell, device: &str) -> Result<Cell> {
    let parts = cell.parts.iter().map(|part| Ok(Part::Made(part.clone().into_tensor()?.to_device(device)?)));
    Ok(Cell { parts: parts.collect::<Result<_>>()?, origin: cell.origin })
}

struct Ahead {
    queue: Arc<Queue>,
    /// Ends the stages before.
    stop: Arc<Stop>,
    threads: Threads,
}

impl Stream for Ahead {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        self.queue.take(max, out);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.queue.close();
        // The thread may be looking for an element that never comes.
        self.stop.set();
        self.threads.join();
    }
}
