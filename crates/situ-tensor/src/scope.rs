//! Device scopes: per thread, nested, as guards and as closures.
//!
//! Scopes merge field by field and the inner one wins; naming a device type clears an inherited index; the empty
//! name changes nothing; [`clear_device`] forgets everything around it. A guard removes its own entry, in whatever
//! order guards are dropped. A new thread starts with no scope.

use situ_core::{DeviceId, DeviceKind, DeviceSpec, DeviceType, Policy, Result};
use situ_runtime::Request;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::Location;

#[derive(Debug, Clone)]
enum Effect {
    Device(DeviceSpec),
    ClearDevice,
    Fallback(Policy),
    Copies(Policy),
    Name(String),
    Line(&'static Location<'static>),
    /// Everything at once, as it was elsewhere.
    Replace(Request),
}

#[derive(Default)]
struct Scopes {
    stack: Vec<(u64, Effect)>,
    next: u64,
    /// The stack merged, so that an op reads it without walking the stack.
    merged: Request,
    /// The line that ops are said to be of, if it is not that of their call.
    line: Option<&'static Location<'static>>,
}

impl Scopes {
    fn merge(&mut self) {
        let mut merged = Request::default();
        self.line = None;
        for (_, effect) in &self.stack {
            match effect {
                Effect::Device(spec) => merged.spec = merged.spec.inside(spec),
                Effect::ClearDevice => merged.spec = DeviceSpec::default(),
                Effect::Fallback(policy) => merged.fallback = Some(*policy),
                Effect::Copies(policy) => merged.copies = Some(*policy),
                Effect::Name(name) => merged.name = merged.name.inside(name),
                Effect::Line(line) => self.line = Some(*line),
                Effect::Replace(request) => merged = request.clone(),
            }
        }
        self.merged = merged;
    }
}

thread_local! {
    static SCOPES: RefCell<Scopes> = RefCell::default();
}

/// The end of a scope: it lasts until this is dropped.
#[must_use = "a scope ends when its guard is dropped: bind it to a name"]
#[derive(Debug)]
pub struct ScopeGuard {
    id: u64,
    /// A scope belongs to the thread that opened it.
    _not_send: PhantomData<*const ()>,
}

impl Drop for ScopeGuard {
    fn drop(&mut self) {
        // The thread's stack may be gone already while the thread ends.
        let _ = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            scopes.stack.retain(|(id, _)| *id != self.id);
            scopes.merge();
        });
    }
}

fn push(effect: Effect) -> ScopeGuard {
    SCOPES.with(|scopes| {
        let mut scopes = scopes.borrow_mut();
        let id = scopes.next;
        scopes.next += 1;
        scopes.stack.push((id, effect));
        scopes.merge();
        ScopeGuard { id, _not_send: PhantomData }
    })
}

/// Opens a device scope: ops called on this thread run on the device it names, until the guard is dropped.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// let _cpu = situ_tensor::device("/CPU:0")?;
/// let sum = situ_tensor::tensor([1.0f32, 2.0])?.sum(&[])?;
/// assert_eq!(sum.device().to_string(), "CPU:0");
/// # Ok(()) }
/// ```
pub fn device(name: &str) -> Result<ScopeGuard> {
    Ok(device_spec(name.parse()?))
}

/// [`device`], for a name that is parsed already.
pub fn device_spec(spec: DeviceSpec) -> ScopeGuard {
    push(Effect::Device(spec))
}

/// Runs `body` in a device scope.
pub fn with_device<T>(name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let _scope = device(name)?;
    body()
}

/// Opens a scope without any device, whatever is around it.
pub fn clear_device() -> ScopeGuard {
    push(Effect::ClearDevice)
}

/// Opens a scope with its own fallback policy.
pub fn fallback_policy(policy: Policy) -> ScopeGuard {
    push(Effect::Fallback(policy))
}

/// Opens a scope with its own copy policy.
pub fn copy_policy(policy: Policy) -> ScopeGuard {
    push(Effect::Copies(policy))
}

/// Opens a scope that gives the ops inside a name, as a layer does: names nest, and stand before the op's own in explanations,
/// profiles and patterns (`encoder/dense/matmul`). An op that computes a gradient has the name of its forward op behind `gradient/`.
/// A name never changes what runs, nor where.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Function, name_scope, tensor};
/// let double = Function::new(|x| {
///     let _layer = name_scope("double");
///     x.add(x)
/// });
/// let x = tensor([1.0f32, 2.0])?;
/// assert_eq!(double.places(&[&x])?[0].full_name(), "double/add");
/// # Ok(()) }
/// ```
pub fn name_scope(name: &str) -> ScopeGuard {
    push(Effect::Name(name.to_string()))
}

/// The name of a device, to open its scope with [`device_spec`].
pub fn on_device(device: DeviceId) -> DeviceSpec {
    let kind = match device.kind {
        DeviceKind::Cpu => DeviceType::Cpu,
        DeviceKind::Gpu => DeviceType::Gpu,
    };
    DeviceSpec::device(kind, u32::from(device.index))
}

/// What the scopes around this call ask for.
pub fn current_request() -> Request {
    SCOPES.with(|scopes| scopes.borrow().merged.clone())
}

/// Opens a scope whose ops are said to be of that line of the program, in errors, explanations and profiles: for libraries that run ops
/// for a line of somebody else's program, as a layer does for the line that made it.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Function, scope::line_scope, tensor};
/// use std::panic::Location;
///
/// #[track_caller]
/// fn double() -> Function {
///     let line = Location::caller();
///     Function::new(move |x| {
///         let _line = line_scope(line);
///         x.add(x)
///     })
/// }
///
/// let f = double();
/// let at = format!("{}:{}", file!(), line!() - 1);
/// assert_eq!(f.places(&[&tensor(1.0f32)?])?[0].source.to_string(), at);
/// # Ok(()) }
/// ```
pub fn line_scope(line: &'static Location<'static>) -> ScopeGuard {
    push(Effect::Line(line))
}

/// The line that an op called at `caller` is said to be of.
pub(crate) fn line_of(caller: &'static Location<'static>) -> &'static Location<'static> {
    SCOPES.with(|scopes| scopes.borrow().line).unwrap_or(caller)
}

/// Opens a scope that asks for exactly this, whatever is around it: to carry a scope to another thread.
pub fn enter(request: Request) -> ScopeGuard {
    push(Effect::Replace(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> String {
        format!("{:#}", current_request().spec)
    }

    #[test]
    fn scopes_nest_and_the_inner_one_wins() {
        let outer = device("/GPU:1").unwrap();
        assert_eq!(spec(), "GPU:1");
        {
            let _inner = device("/CPU").unwrap();
            assert_eq!(current_request().spec, "/CPU".parse().unwrap(), "a type clears an inherited index");
            let _empty = device("").unwrap();
            assert_eq!(current_request().spec, "/CPU".parse().unwrap(), "the empty name changes nothing");
            let _none = clear_device();
            assert!(current_request().spec.is_empty());
        }
        assert_eq!(spec(), "GPU:1");
        drop(outer);
        assert!(current_request().spec.is_empty());
    }

    #[test]
    fn a_guard_dropped_out_of_order_removes_only_its_own_entry() {
        let outer = device("/CPU:0").unwrap();
        let inner = device("/GPU:0").unwrap();
        drop(outer);
        assert_eq!(spec(), "GPU:0");
        drop(inner);
        assert!(current_request().spec.is_empty());
    }

    #[test]
    fn a_new_thread_starts_with_no_scope_and_policies_nest_too() {
        let _scope = device("/GPU:0").unwrap();
        let _strict = fallback_policy(Policy::Forbid);
        assert_eq!(current_request().fallback, Some(Policy::Forbid));
        let request = std::thread::spawn(current_request).join().unwrap();
        assert_eq!(request, Request::default());
        let error = device("/GPUU:0").unwrap_err().to_string();
        assert!(error.contains("GPU:0"), "{error}");
    }
}
