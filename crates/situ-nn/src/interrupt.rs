//! Ending a run from outside: by Ctrl-C, or from another thread.

use situ_core::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A flag that ends `fit` after the current step. Clones are the same flag.
///
/// ```
/// use situ_nn::Interrupt;
/// let interrupt = Interrupt::default();
/// let of_another_thread = interrupt.clone();
/// of_another_thread.set();
/// assert!(interrupt.is_set());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

static CTRL_C: OnceLock<std::result::Result<Interrupt, String>> = OnceLock::new();

impl Interrupt {
    /// The flag that Ctrl-C sets, from the first call on: the first Ctrl-C ends fit after the current step, a
    /// second one the program at once, with code 130. An error if the program has a handler of its own, which
    /// may call [`Interrupt::set`] itself.
    pub fn on_ctrl_c() -> Result<Interrupt> {
        let made = CTRL_C.get_or_init(|| {
            let flag = Interrupt::default();
            let heard = flag.clone();
            let handler = move || {
                if heard.0.swap(true, Relaxed) {
                    std::process::exit(130);
                }
            };
            ctrlc::set_handler(handler).map(|()| flag).map_err(|e| e.to_string())
        });
        made.clone().map_err(|why| {
            Error::argument(
                "on_ctrl_c",
                format!("Ctrl-C can't be listened to: {why}"),
                "call Interrupt::set in the program's own handler",
            )
        })
    }

    /// Asks for the end.
    pub fn set(&self) {
        self.0.store(true, Relaxed);
    }

    /// Takes it back.
    pub fn clear(&self) {
        self.0.store(false, Relaxed);
    }

    /// Whether the end was asked for.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}
