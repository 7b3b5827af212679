//! Which runtime new tensors belong to: the process's, unless a test or a tool says otherwise.

use situ_runtime::Runtime;
use std::cell::RefCell;

thread_local! {
    static CURRENT: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

/// The runtime in which this thread makes tensors.
pub fn current_runtime() -> Runtime {
    CURRENT.with(|current| current.borrow().clone()).unwrap_or_else(|| Runtime::global().clone())
}

/// Runs `body` with another runtime as this thread's current one.
pub fn with_runtime<T>(runtime: &Runtime, body: impl FnOnce() -> T) -> T {
    struct Restore(Option<Runtime>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            CURRENT.with(|current| *current.borrow_mut() = before);
        }
    }
    let _restore = Restore(CURRENT.with(|current| current.borrow_mut().replace(runtime.clone())));
    body()
}

/// Runs `body` with the runtime of a tensor as this thread's current one.
pub(crate) fn with_runtime_of<T>(
    tensor: &crate::Tensor,
    body: impl FnOnce() -> situ_core::Result<T>,
) -> situ_core::Result<T> {
    if crate::trace::is_tracing() {
        return body();
    }
    // Rows need not be made dense to be asked where they are.
    let own = tensor.rows().map_or(tensor, |rows| rows.values());
    let runtime = Runtime::of(own.concrete()?)?;
    with_runtime(&runtime, body)
}
