//! The name that a program gives to a part of itself: `encoder/dense`. It is for people and patterns alone.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The names around an op's call, outermost first, and whether the op is there for a gradient.
///
/// Never part of what an op means or asks for: two are always equal, so that ops of different layers can
/// still be joined, shared and compared. Use [`ScopeName::path`] to tell them apart.
///
/// ```
/// use situ_core::ScopeName;
/// let dense = ScopeName::default().inside("encoder").inside("dense");
/// assert_eq!(dense.to_string(), "encoder/dense");
/// assert_eq!(dense.gradient().of("matmul"), "gradient/encoder/dense/matmul");
/// ```
#[derive(Clone, Default, Debug)]
pub struct ScopeName {
    path: Option<Arc<str>>,
    gradient: bool,
}

impl ScopeName {
    /// The name within this one; slashes around it are dropped, and an empty one changes nothing.
    pub fn inside(&self, name: &str) -> ScopeName {
        let name = name.trim_matches('/');
        if name.is_empty() {
            return self.clone();
        }
        let path = match &self.path {
            Some(path) => Arc::from(format!("{path}/{name}")),
            None => Arc::from(name),
        };
        ScopeName { path: Some(path), gradient: self.gradient }
    }

    /// The name of an op that computes the gradient of an op of this name.
    pub fn gradient(&self) -> ScopeName {
        ScopeName { path: self.path.clone(), gradient: true }
    }

    /// The names, without the word `gradient`.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Whether it is the name of a gradient's op.
    pub fn is_gradient(&self) -> bool {
        self.gradient
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.path.is_none() && !self.gradient
    }

    /// The full name of an op called under this name.
    pub fn of(&self, op: &str) -> String {
        if self.is_empty() { op.to_string() } else { format!("{self}/{op}") }
    }
}

impl fmt::Display for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.gradient, &self.path) {
            (false, None) => Ok(()),
            (true, None) => f.write_str("gradient"),
            (false, Some(path)) => f.write_str(path),
            (true, Some(path)) => write!(f, "gradient/{path}"),
        }
    }
}

impl PartialEq for ScopeName {
    fn eq(&self, _: &ScopeName) -> bool {
        true
    }
}
impl Eq for ScopeName {}
impl Hash for ScopeName {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_nest_and_empty_ones_change_nothing() {
        let name = ScopeName::default();
        assert!(name.is_empty() && name.to_string().is_empty());
        assert_eq!(name.of("add"), "add");
        let inner = name.inside("/model/").inside("").inside("dense");
        assert_eq!(inner.path(), Some("model/dense"));
        assert_eq!(name.gradient().to_string(), "gradient");
        assert_eq!(inner.gradient().gradient().to_string(), "gradient/model/dense");
    }

    #[test]
    fn a_name_is_no_part_of_what_is_asked_for() {
        let named = crate::Request { name: ScopeName::default().inside("a"), ..Default::default() };
        assert_eq!(named, crate::Request::default());
    }
}
