//! Hearing what the runtime says.

use situ_runtime::{Notice, Runtime, Topic};
use std::sync::{Arc, Mutex};

/// Everything a runtime has said since.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    /// Listens to a runtime from now on.
    pub(crate) fn from(runtime: &Runtime) -> Heard {
        let heard = Heard::default();
        let kept = heard.clone();
        runtime.set_listener(Some(Box::new(move |notice| kept.0.lock().unwrap().push(notice.clone()))));
        heard
    }

    /// The sentences about a topic.
    pub(crate) fn about(&self, topic: Topic) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|n| n.topic == topic).map(|n| n.text.clone()).collect()
    }
}

#[test]
fn a_listener_may_put_another_in_its_place() {
    let runtime = situ_testkit::machines::cpu();
    let heard = Heard::default();
    let (kept, same) = (heard.clone(), runtime.clone());
    runtime.set_listener(Some(Box::new(move |notice| {
        let later = kept.clone();
        same.set_listener(Some(Box::new(move |notice| later.0.lock().unwrap().push(notice.clone()))));
        // It may speak itself, too: to who listens now.
        same.say(format!("first {}", notice.text));
    })));
    runtime.say("one".to_string());
    runtime.say("two".to_string());
    assert_eq!(heard.about(Topic::Function), ["first one", "two"]);
}
