//! Patterns of op names: `dense/*`, `matmul`, `/encoder/dense/*`.

use crate::record::Node;

/// A pattern of full names, where `*` is any run of characters and `?` any one.
///
/// It matches a whole name (`encoder/dense/matmul`), or what is left of one after any slash, or the names
/// around an op, which is then all of that layer. One that begins with a slash matches from the beginning
/// alone.
///
/// ```
/// use situ_observe::Pattern;
/// assert!(Pattern::new("dense/*").matches("encoder/dense/matmul"));
/// assert!(Pattern::new("dense").matches("gradient/dense/matmul"), "all of the layer");
/// assert!(Pattern::new("matmul*").matches("encoder/dense/matmul_bias"));
/// assert!(!Pattern::new("/dense/*").matches("encoder/dense/matmul"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// The pattern of this text.
    pub fn new(text: &str) -> Pattern {
        Pattern { text: text.to_string() }
    }

    /// The text that it was made from.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches a full name.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, anchored) = match self.text.strip_prefix('/') {
            Some(rest) => (rest, true),
            None => (self.text.as_str(), false),
        };
        let segments = std::iter::once(0).chain(name.match_indices('/').map(|(at, _)| at + 1));
        let starts = segments.take_while(|&at| at == 0 || !anchored);
        let ends = |from: usize| {
            let inner = name[from..].match_indices('/').map(move |(at, _)| from + at);
            inner.chain(std::iter::once(name.len()))
        };
        starts
            .into_iter()
            .any(|from| ends(from).any(|to| glob(pattern.as_bytes(), &name.as_bytes()[from..to])))
    }

    /// Whether it matches a node, or any of the ops that were joined into it.
    pub fn matches_node(&self, node: &Node) -> bool {
        self.matches(&node.full_name()) || node.full_names().iter().any(|name| self.matches(name))
    }
}

/// Whether a pattern matches a text as a whole. Goes back to the last star only: time is at most the product
/// of the lengths.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match &mut star {
                Some((at, from)) => {
                    *from += 1;
                    (p, t) = (*at + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_are_as_in_file_names() {
        for (pattern, name, expected) in [
            ("*", "a/b", true),
            ("conv?", "conv1", true),
            ("conv?", "conv", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abcdf", false),
            ("", "a", false),
            ("ens", "dense", false),
            ("dense/mat*", "m/dense/matmul", true),
            ("/m", "m/dense/matmul", true),
            ("/dense", "m/dense/matmul", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }
}
