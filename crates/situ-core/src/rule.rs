//! The rules that decide places, without what a [`Reason`](crate::Reason) has besides: what tables and files
//! name, and readers of them ask for.

use std::fmt;

/// A rule that decided a device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Rule {
    /// It was asked for.
    Requested,
    /// What was asked for has no kernel.
    NoKernel,
    /// What was asked for, or comes first, can't do this size.
    TooLarge,
    /// What was asked for can't be opened.
    Unopened,
    /// What was asked for does not exist.
    NoSuchDevice,
    /// What was asked for is lost.
    DeviceLost,
    /// It must be where something else is.
    Colocated,
    /// It is done sooner here.
    Faster,
    /// Moving its inputs would cost more than another device saves.
    CheaperThanMoving,
    /// Another device has no memory left for it.
    MemoryLimit,
    /// Another device is busy.
    Balanced,
    /// A GPU comes first.
    PreferGpu,
    /// No other device could run it.
    OnlyDevice,
    /// Nothing is decided yet.
    #[default]
    Undecided,
    /// A view is where its tensor is.
    View,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 15] = [
        Rule::Requested,
        Rule::NoKernel,
        Rule::TooLarge,
        Rule::Unopened,
        Rule::NoSuchDevice,
        Rule::DeviceLost,
        Rule::Colocated,
        Rule::Faster,
        Rule::CheaperThanMoving,
        Rule::MemoryLimit,
        Rule::Balanced,
        Rule::PreferGpu,
        Rule::OnlyDevice,
        Rule::Undecided,
        Rule::View,
    ];

    /// Its short name, as in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Requested => "requested",
            Rule::NoKernel => "no kernel",
            Rule::TooLarge => "too large",
            Rule::Unopened => "not opened",
            Rule::NoSuchDevice => "no such device",
            Rule::DeviceLost => "device lost",
            Rule::Colocated => "colocated",
            Rule::Faster => "faster",
            Rule::CheaperThanMoving => "cheaper than moving",
            Rule::MemoryLimit => "memory limit",
            Rule::Balanced => "balanced",
            Rule::PreferGpu => "prefer GPU",
            Rule::OnlyDevice => "only device",
            Rule::Undecided => "undecided",
            Rule::View => "view",
        }
    }

    /// The rule of that short name, for readers of files.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// Whether something is a fallback that is where it is by this rule. `asked`: a scope asked for a device;
    /// `tried`: the device that is full was found so when it was tried, and not by a plan that keeps its
    /// limit.
    pub fn is_fallback(self, asked: bool, tried: bool) -> bool {
        match self {
            Rule::NoKernel | Rule::Unopened | Rule::NoSuchDevice | Rule::DeviceLost => true,
            // Without a scope nobody asked for the device that is too small.
            Rule::TooLarge => asked,
            Rule::MemoryLimit => tried,
            Rule::Requested
            | Rule::Colocated
            | Rule::Faster
            | Rule::CheaperThanMoving
            | Rule::Balanced
            | Rule::PreferGpu
            | Rule::OnlyDevice
            | Rule::Undecided
            | Rule::View => false,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_name() {
        assert!(Rule::ALL.into_iter().all(|rule| Rule::named(rule.name()) == Some(rule)));
        assert_eq!(Rule::named("given"), None);
    }
}
