//! One thing that was looked at.

use serde::Serialize;

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// As it should be.
    Fine,
    /// It works, and could be better.
    Note,
    /// It does not work.
    Broken,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            State::Fine => "fine",
            State::Note => "note",
            State::Broken => "BROKEN",
        }
    }
}

/// What was found, and what to do about it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    pub(crate) topic: &'static str,
    pub(crate) state: State,
    pub(crate) found: String,
    pub(crate) advice: Option<String>,
}

impl Finding {
    pub(crate) fn fine(topic: &'static str, found: impl Into<String>) -> Finding {
        Finding { topic, state: State::Fine, found: found.into(), advice: None }
    }

    pub(crate) fn note(topic: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { topic, state: State::Note, found: found.into(), advice: Some(advice.into()) }
    }

    pub(crate) fn broken(
        topic: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Finding {
        Finding { topic, state: State::Broken, found: found.into(), advice: Some(advice.into()) }
    }
}
