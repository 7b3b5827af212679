//! Which elements, and how often: take, skip, repeat, one dataset after another, two side by side.

use crate::fingerprint::Fingerprint;
use crate::random::pass;
use crate::stop::Stop;
use crate::stream::{Context, Item, Length, Pulled, Stage, Stream};
use std::sync::Arc;

/// The first elements.
pub(crate) struct Take {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) count: usize,
}

impl Stage for Take {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Taking { from: self.from.open(context), left: self.count })
    }

    fn length(&self) -> Length {
        match self.from.length() {
            Length::Known(n) => Length::Known(n.min(self.count)),
            Length::Infinite => Length::Known(self.count),
            Length::Unknown => Length::Unknown,
        }
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("take");
        fingerprint.size(self.count);
    }
}

struct Taking {
    from: Box<dyn Stream>,
    left: usize,
}

impl Stream for Taking {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        if self.left > 0 {
            let before = out.len();
            self.from.fill(max.min(self.left), out);
            self.left -= out.len() - before;
        }
    }
}

/// All but the first elements.
pub(crate) struct Skip {
    pub(crate) from: Arc<dyn Stage>,
    pub(crate) count: usize,
}

impl Stage for Skip {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Skipping { from: self.from.open(context), left: self.count, stop: context.stop.clone() })
    }

    fn length(&self) -> Length {
        self.from.length().map(|n| n.saturating_sub(self.count))
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("skip");
        fingerprint.size(self.count);
    }
}

struct Skipping {
    from: Box<dyn Stream>,
    left: usize,
    stop: Arc<Stop>,
}

impl Stream for Skipping {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        let mut dropped = Vec::new();
        while self.left > 0 && !self.stop.is_set() {
            self.from.fill(self.left.min(256), &mut dropped);
            if dropped.is_empty() {
                self.left = 0;
            }
            self.left -= dropped.len();
            dropped.clear();
        }
        self.from.fill(max, out);
    }
}

/// The same again, each pass in an order of its own.
pub(crate) struct Repeat {
    pub(crate) from: Arc<dyn Stage>,
    /// `None`: without end.
    pub(crate) times: Option<usize>,
}

impl Stage for Repeat {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        Box::new(Repeating {
            from: self.from.clone(),
            context: context.clone(),
            pass: 0,
            left: self.times,
            now: None,
            anything: false,
        })
    }

    fn length(&self) -> Length {
        match (self.from.length(), self.times) {
            (_, Some(0)) | (Length::Known(0), _) => Length::Known(0),
            (Length::Known(n), Some(times)) => Length::Known(n.saturating_mul(times)),
            (Length::Unknown, Some(_)) => Length::Unknown,
            (Length::Infinite, _) | (_, None) => Length::Infinite,
        }
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.from.identify(fingerprint);
        fingerprint.text("repeat");
        fingerprint.size(self.times.map_or(0, |times| times.saturating_add(1)));
    }
}

struct Repeating {
    from: Arc<dyn Stage>,
    context: Context,
    pass: u64,
    left: Option<usize>,
    now: Option<Box<dyn Stream>>,
    /// Whether this pass had an element: without one, the next would have none either.
    anything: bool,
}

impl Stream for Repeating {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        while !self.context.stop.is_set() {
            let now = match &mut self.now {
                Some(now) => now,
                None => {
                    if self.left == Some(0) {
                        return;
                    }
                    self.left = self.left.map(|n| n - 1);
                    let context =
                        Context { epoch: pass(self.context.epoch, self.pass), ..self.context.clone() };
                    self.pass += 1;
                    self.anything = false;
                    self.now.insert(self.from.open(&context))
                }
            };
            let before = out.len();
            now.fill(max, out);
            if out.len() > before {
                self.anything = true;
                return;
            }
            self.now = None;
            if !self.anything {
                self.left = Some(0);
            }
        }
    }
}

/// One dataset after another.
pub(crate) struct Concatenate {
    pub(crate) parts: [Arc<dyn Stage>; 2],
}

impl Stage for Concatenate {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        let [first, second] = self.parts.clone();
        Box::new(Following { now: Some(first.open(context)), later: Some(second), context: context.clone() })
    }

    fn length(&self) -> Length {
        match (self.parts[0].length(), self.parts[1].length()) {
            (Length::Known(a), Length::Known(b)) => Length::Known(a.saturating_add(b)),
            (Length::Infinite, _) | (_, Length::Infinite) => Length::Infinite,
            _ => Length::Unknown,
        }
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.parts.iter().for_each(|part| part.identify(fingerprint));
        fingerprint.text("concatenate");
    }
}

struct Following {
    now: Option<Box<dyn Stream>>,
    later: Option<Arc<dyn Stage>>,
    context: Context,
}

impl Stream for Following {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        while let Some(now) = &mut self.now {
            let before = out.len();
            now.fill(max, out);
            if out.len() > before {
                return;
            }
            self.now = self.later.take().map(|stage| stage.open(&self.context));
        }
    }
}

/// Two datasets side by side, as long as the shorter one.
pub(crate) struct Zip {
    pub(crate) parts: [Arc<dyn Stage>; 2],
}

impl Stage for Zip {
    fn open(&self, context: &Context) -> Box<dyn Stream> {
        let [a, b] = &self.parts;
        Box::new(Zipped { parts: [Pulled::new(a.open(context), 16), Pulled::new(b.open(context), 16)] })
    }

    fn length(&self) -> Length {
        match (self.parts[0].length(), self.parts[1].length()) {
            (Length::Known(a), Length::Known(b)) => Length::Known(a.min(b)),
            (Length::Known(n), Length::Infinite) | (Length::Infinite, Length::Known(n)) => Length::Known(n),
            (Length::Infinite, Length::Infinite) => Length::Infinite,
            _ => Length::Unknown,
        }
    }

    fn identify(&self, fingerprint: &mut Fingerprint) {
        self.parts.iter().for_each(|part| part.identify(fingerprint));
        fingerprint.text("zip");
    }
}

struct Zipped {
    parts: [Pulled; 2],
}

impl Stream for Zipped {
    fn fill(&mut self, max: usize, out: &mut Vec<Item>) {
        for _ in 0..max {
            let (Some(a), Some(b)) = (self.parts[0].next(), self.parts[1].next()) else { return };
            out.push(a.and_then(|mut a| {
                a.parts.extend(b?.parts);
                Ok(a)
            }));
        }
    }
}
