//! Where a program asked for something: a line of Rust, a line of a program in another language, or a node of
//! a model's file.
//!
//! An op is told of its [`Caller`], which costs nothing: the compiler knows the line of Rust, and nobody has
//! asked for more. Whatever keeps the place beyond the call (a traced node, an entry of the ledger, an error)
//! asks the caller for its [`Location`]. Only then is a front end of another language asked for the line of
//! its own program, by [`locate_with`].

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::panic::Location as RustLocation;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A place in a program, for people: in errors, explanations, the ledger and on pages.
///
/// It is small and copied freely. Places that are not Rust's are kept once for each, as long as the process
/// lives.
///
/// ```
/// use situ_core::Location;
/// let line = Location::line_of("train.py", 12);
/// assert_eq!(line.to_string(), "train.py:12");
/// assert_eq!(line, Location::line_of("train.py", 12));
/// assert_eq!(Location::node_of("resnet.onnx", "/layer1/Conv").to_string(), "resnet.onnx:/layer1/Conv");
/// ```
#[derive(Clone, Copy)]
pub struct Location(Place);

#[derive(Clone, Copy)]
enum Place {
    Rust(&'static RustLocation<'static>),
    /// One for each place, so that they are compared by their addresses.
    Other(&'static Foreign),
}

/// A place that the compiler does not know.
#[derive(PartialEq, Eq, Hash)]
struct Foreign {
    file: &'static str,
    within: Within,
}

#[derive(PartialEq, Eq, Hash)]
enum Within {
    Line(u32),
    Node(&'static str),
}

impl Location {
    /// Where this is called: by the front end of this thread, or else the line of Rust.
    #[track_caller]
    pub fn here() -> Location {
        Caller::here().location()
    }

    /// A line of a program that is not Rust's.
    pub fn line_of(file: &str, line: u32) -> Location {
        Location::of(file, |_| Within::Line(line))
    }

    /// A node of a model's file, by the name it has there.
    pub fn node_of(file: &str, name: &str) -> Location {
        Location::of(file, |keep| Within::Node(keep(name)))
    }

    fn of(file: &str, within: impl FnOnce(&mut dyn FnMut(&str) -> &'static str) -> Within) -> Location {
        let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Known { texts, places } = known.get_or_insert_with(Known::default);
        let mut keep = |text: &str| match texts.get(text) {
            Some(kept) => *kept,
            None => {
                let kept: &'static str = Box::leak(Box::from(text));
                texts.insert(kept);
                kept
            }
        };
        let file = keep(file);
        let place = Foreign { file, within: within(&mut keep) };
        Location(Place::Other(match places.get(&place) {
            Some(known) => known,
            None => {
                let kept: &'static Foreign = Box::leak(Box::new(place));
                places.insert(kept);
                kept
            }
        }))
    }

    /// The file, as the compiler or the front end names it.
    pub fn file(self) -> &'static str {
        match self.0 {
            Place::Rust(at) => at.file(),
            Place::Other(Foreign { file, .. }) => file,
        }
    }

    /// The line, if it is one.
    pub fn line(self) -> Option<u32> {
        match self.0 {
            Place::Rust(at) => Some(at.line()),
            Place::Other(Foreign { within: Within::Line(line), .. }) => Some(*line),
            Place::Other(_) => None,
        }
    }

    /// The node of a model's file, if it is one.
    pub fn node(self) -> Option<&'static str> {
        match self.0 {
            Place::Other(Foreign { within: Within::Node(name), .. }) => Some(name),
            _ => None,
        }
    }

    fn key(&self) -> (&'static str, Option<u32>, Option<&'static str>, u32) {
        let column = match self.0 {
            Place::Rust(at) => at.column(),
            Place::Other(_) => 0,
        };
        (self.file(), self.line(), self.node(), column)
    }
}

/// The places that are not Rust's.
#[derive(Default)]
struct Known {
    texts: HashSet<&'static str>,
    places: HashSet<&'static Foreign>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

impl PartialEq for Location {
    fn eq(&self, other: &Location) -> bool {
        match (self.0, other.0) {
            (Place::Rust(a), Place::Rust(b)) => std::ptr::eq(a, b) || a == b,
            (Place::Other(a), Place::Other(b)) => std::ptr::eq(a, b),
            _ => false,
        }
    }
}
impl Eq for Location {}

impl Hash for Location {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Place::Rust(at) => at.hash(state),
            Place::Other(at) => std::ptr::hash(at, state),
        }
    }
}

impl PartialOrd for Location {
    fn partial_cmp(&self, other: &Location) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Location {
    fn cmp(&self, other: &Location) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line(), self.node()) {
            (Some(line), _) => write!(f, "{}:{line}", self.file()),
            (_, node) => write!(f, "{}:{}", self.file(), node.unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Who calls an op, before anybody wants to know more of it than the compiler does.
///
/// It is for the call alone. What outlives the call keeps its [`Caller::location`], asked for on the thread
/// that calls.
#[derive(Clone, Copy)]
pub struct Caller(Asked);

#[derive(Clone, Copy)]
enum Asked {
    /// A line of Rust: perhaps that of a front end, which knows better.
    Perhaps(&'static RustLocation<'static>),
    /// What was found out before.
    Found(Location),
}

impl Caller {
    /// The line that calls this, or the function around it that is marked `#[track_caller]`.
    #[inline]
    #[track_caller]
    pub fn here() -> Caller {
        Caller(Asked::Perhaps(RustLocation::caller()))
    }

    /// Where that is in the program: the front end of this thread is asked, if it has one.
    pub fn location(self) -> Location {
        match self.0 {
            Asked::Found(location) => location,
            Asked::Perhaps(rust) if !FRONTS.load(Relaxed) => Location(Place::Rust(rust)),
            Asked::Perhaps(rust) => asked().unwrap_or(Location(Place::Rust(rust))),
        }
    }
}

impl From<Location> for Caller {
    fn from(location: Location) -> Caller {
        Caller(Asked::Found(location))
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.location(), f)
    }
}

type Front = Rc<dyn Fn() -> Option<Location>>;

/// Whether any thread ever had a front end: programs in Rust never look further.
static FRONTS: AtomicBool = AtomicBool::new(false);

thread_local! {
    static FRONT: RefCell<Vec<(u64, Front)>> = const { RefCell::new(Vec::new()) };
}

/// What the front end of this thread says; `None` also where the thread is ending, or the front end itself
/// asks.
#[cold]
fn asked() -> Option<Location> {
    thread_local! {
        static ASKING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    /// Ends the question even where the front end panics.
    struct Asking;
    impl Drop for Asking {
        fn drop(&mut self) {
            let _ = ASKING.try_with(|asking| asking.set(false));
        }
    }
    let front = FRONT.try_with(|fronts| fronts.borrow().last().map(|(_, front)| front.clone())).ok()??;
    if ASKING.replace(true) {
        return None;
    }
    let _asking = Asking;
    front()
}

/// The end of a front end's word: it is asked until this is dropped.
#[must_use = "the front end is asked until this is dropped: bind it to a name"]
#[derive(Debug)]
pub struct FrontGuard {
    id: u64,
    /// A front end speaks for the thread that it runs on.
    _not_send: PhantomData<*const ()>,
}

impl Drop for FrontGuard {
    fn drop(&mut self) {
        // The thread's own data may be gone already while the thread ends.
        let gone = FRONT.try_with(|fronts| {
            let mut fronts = fronts.borrow_mut();
            let at = fronts.iter().rposition(|(id, _)| *id == self.id);
            at.map(|at| fronts.remove(at))
        });
        // The closure's own drop may run anything, so it runs when nothing is borrowed.
        drop(gone);
    }
}

/// From now on, on this thread, `front` is asked where the program is, until the guard is dropped: for front
/// ends of other languages, whose users know nothing of lines of Rust. `None` is for what does not come from
/// their program. The innermost is asked.
///
/// It is asked only where a place is kept: when an op is traced or recorded, copies, falls back or fails, and
/// never for an op that just runs. A lock of the runtime may be held meanwhile: it must not call situ, nor
/// wait for a thread that does. What needs to wait (for an interpreter's lock, say) finds out first, and
/// calls with [`Caller::from`] what it found.
///
/// A front end that has the whole thread keeps the guard in the thread's own data, or forgets it.
///
/// ```
/// use situ_core::{Caller, Location, locate_with};
/// let front = locate_with(|| Some(Location::line_of("train.py", 7)));
/// assert_eq!(Caller::here().location().to_string(), "train.py:7");
/// drop(front);
/// assert_eq!(Caller::here().location().file(), file!());
/// ```
pub fn locate_with(front: impl Fn() -> Option<Location> + 'static) -> FrontGuard {
    let id = FRONT.with_borrow_mut(|fronts| {
        let id = fronts.last().map_or(0, |(last, _)| last + 1);
        fronts.push((id, Rc::new(front)));
        id
    });
    FRONTS.store(true, Relaxed);
    FrontGuard { id, _not_send: PhantomData }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_place_is_kept_once_and_told_from_others() {
        let (a, b) = (Location::line_of("a.py", 1), Location::line_of("a.py", 2));
        assert_eq!(a, Location::line_of(&String::from("a.py"), 1));
        assert!(a != b && a < b);
        let node = Location::node_of("a.py", "1");
        assert!(node != a, "a node named as a line is not the line");
        assert_eq!((a.line(), a.node(), node.line(), node.node()), (Some(1), None, None, Some("1")));
        let (here, line) = (Location::here(), line!());
        assert_eq!(here.to_string(), format!("{}:{line}", file!()));
        assert_eq!(
            std::collections::HashSet::from([a, b, node, here, Location::line_of("a.py", 2)]).len(),
            4
        );
    }

    #[test]
    fn a_caller_costs_two_words_and_a_front_end_is_asked_only_for_its_location() {
        assert!(size_of::<Caller>() <= 2 * size_of::<usize>() && size_of::<Option<Location>>() <= 16);
        let count = Rc::new(Cell::new(0));
        let counted = count.clone();
        let _front = locate_with(move || {
            counted.set(counted.get() + 1);
            Some(Location::line_of("b.py", counted.get()))
        });
        let callers: Vec<Caller> = (0..100).map(|_| Caller::here()).collect();
        assert_eq!(count.get(), 0);
        assert_eq!(callers[0].location().line(), Some(1));
        let found = Caller::from(callers[1].location());
        assert_eq!((found.location().line(), found.location().line(), count.get()), (Some(2), Some(2), 2));
    }

    #[test]
    fn fronts_nest_end_in_any_order_and_belong_to_their_thread() {
        let outer = locate_with(|| Some(Location::line_of("outer.py", 1)));
        let inner = locate_with(|| None);
        assert_eq!(Location::here().file(), file!(), "the innermost is asked");
        let elsewhere = std::thread::spawn(|| Location::here().file()).join().unwrap();
        assert_eq!(elsewhere, file!());
        let innermost = locate_with(|| Some(Location::line_of("inner.py", 1)));
        drop(outer);
        assert_eq!(Location::here().file(), "inner.py");
        drop(innermost);
        drop(inner);
        assert_eq!(Location::here().file(), file!());
    }

    #[test]
    fn a_front_end_that_asks_itself_and_one_that_panics_are_borne() {
        let front = locate_with(|| Some(Location::here()));
        assert_eq!(Location::here().file(), file!());
        drop(front);
        let _front = locate_with(|| panic!("no frame"));
        assert!(std::panic::catch_unwind(Location::here).is_err());
        assert!(std::panic::catch_unwind(Location::here).is_err(), "it is asked again");
    }
}
