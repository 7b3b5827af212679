//! Device scopes: per thread, nested, as guards and as closures.
//!
//! Scopes merge field by field and the inner one wins; naming a device type clears an inherited index; the
//! empty name changes nothing; [`clear_device`] forgets everything around it. A guard removes its own entry,
//! in whatever order guards are dropped. A new thread starts with no scope.

use situ_core::{Caller, DeviceId, DeviceSpec, Location, Policy, Result};
use situ_runtime::Request;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

#[derive(Debug, Clone)]
enum Effect {
    Device(DeviceSpec),
    ClearDevice,
    Fallback(Policy),
    Copies(Policy),
    Name(String),
    Line(Location),
    /// Everything at once, as it was elsewhere.
    Replace(Request),
}

/// What a stack of scopes asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Merged {
    request: Request,
    /// The line that ops are said to be of, if it is not that of their call.
    line: Option<Location>,
}

impl Merged {
    fn inside(&self, effect: &Effect) -> Merged {
        let mut merged = self.clone();
        let request = &mut merged.request;
        match effect {
            Effect::Device(spec) => request.spec = request.spec.inside(spec),
            Effect::ClearDevice => request.spec = DeviceSpec::default(),
            Effect::Fallback(policy) => request.fallback = Some(*policy),
            Effect::Copies(policy) => request.copies = Some(*policy),
            Effect::Name(name) => request.name = request.name.inside(name),
            Effect::Line(line) => merged.line = Some(*line),
            Effect::Replace(other) => *request = other.clone(),
        }
        merged
    }

    pub(crate) fn request(&self) -> &Request {
        &self.request
    }

    /// The line that an op called at `caller` is said to be of.
    pub(crate) fn line_of(&self, caller: Caller) -> Caller {
        self.line.map_or(caller, Caller::from)
    }
}

/// An open scope, and what it and those around it ask for: an op reads that without walking the stack, and a
/// scope is opened and closed without merging the others again.
struct Open {
    id: u64,
    effect: Effect,
    merged: Rc<Merged>,
}

#[derive(Default)]
struct Scopes {
    stack: Vec<Open>,
    /// What no scope asks for.
    outside: Rc<Merged>,
    next: u64,
}

impl Scopes {
    fn innermost(&self) -> &Rc<Merged> {
        self.stack.last().map_or(&self.outside, |open| &open.merged)
    }

    fn open(&mut self, effect: Effect) -> u64 {
        let id = self.next;
        self.next += 1;
        let merged = self.innermost().inside(&effect);
        self.stack.push(Open { id, effect, merged: Rc::new(merged) });
        id
    }

    fn close(&mut self, id: u64) {
        // Guards are dropped in the reverse order as a rule.
        let Some(at) = self.stack.iter().rposition(|open| open.id == id) else { return };
        self.stack.remove(at);
        for i in at..self.stack.len() {
            let around = if i == 0 { &self.outside } else { &self.stack[i - 1].merged };
            self.stack[i].merged = Rc::new(around.inside(&self.stack[i].effect));
        }
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
            scopes.borrow_mut().close(self.id);
        });
    }
}

fn push(effect: Effect) -> ScopeGuard {
    let id = SCOPES.with(|scopes| scopes.borrow_mut().open(effect));
    ScopeGuard { id, _not_send: PhantomData }
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

/// Opens a scope that gives the ops inside a name, as a layer does: names nest, and stand before the op's own
/// in explanations, profiles and patterns (`encoder/dense/matmul`). An op that computes a gradient has the
/// name of its forward op behind `gradient/`. A name never changes what runs, nor where.
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
    device.spec()
}

/// What the scopes around this call ask for.
pub fn current_request() -> Request {
    SCOPES.with(|scopes| scopes.borrow().innermost().request.clone())
}

/// What the scopes around this call ask for, as it is now: an op holds on to it without copying it, and what
/// the op runs may open scopes of its own.
#[inline]
pub(crate) fn around() -> Rc<Merged> {
    SCOPES.with(|scopes| scopes.borrow().innermost().clone())
}

/// Opens a scope whose ops are said to be of that line of the program, in errors, explanations and profiles:
/// for libraries that run ops for a line of somebody else's program, as a layer does for the line that made
/// it.
///
/// ```
/// # fn main() -> situ_core::Result<()> {
/// use situ_tensor::{Function, scope::line_scope, tensor};
/// use situ_core::Location;
///
/// #[track_caller]
/// fn double() -> Function {
///     let line = Location::here();
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
pub fn line_scope(line: Location) -> ScopeGuard {
    push(Effect::Line(line))
}

/// The line that an op called at `caller` is said to be of.
pub(crate) fn line_of(caller: Caller) -> Caller {
    SCOPES.with(|scopes| scopes.borrow().innermost().line_of(caller))
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
    fn thousands_of_scopes_open_and_close_in_any_order() {
        let mut guards: Vec<ScopeGuard> = (0..4000).map(|i| name_scope(&format!("level{i}"))).collect();
        let _cpu = device("/CPU:0").unwrap();
        // One in the middle goes first; what is inside stays.
        drop(guards.remove(1));
        let name = current_request().name;
        assert!(name.path().unwrap().starts_with("level0/level2/level3/"));
        assert_eq!(spec(), "CPU:0");
        while let Some(last) = guards.pop() {
            drop(last);
        }
        assert!(current_request().name.is_empty());
        assert_eq!(spec(), "CPU:0");
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
