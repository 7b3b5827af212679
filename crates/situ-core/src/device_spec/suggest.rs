//! The nearest valid name for a text that is not one.
//!
//! A second, lenient reader: it takes from every part what can be understood (edit distance over the
//! grammar's words, other systems' names for a GPU, a missing colon), drops the rest, and writes the spec
//! that comes out. A suggestion therefore always parses. It only ever runs for the sake of an error message.

use super::DeviceSpec;
use super::names::{DeviceType, JobName};

/// Longer texts are not typos of a device name.
const LONGEST: usize = 256;

/// The nearest valid name in its short form, or `None` if nothing in the text looks like part of one.
pub(super) fn nearest(input: &str) -> Option<String> {
    if input.len() > LONGEST {
        return None;
    }
    let mut spec = DeviceSpec::ANY;
    let mut unknown = Vec::new();
    for part in input.split(|c: char| matches!(c, '/' | '\\' | ',') || c.is_whitespace()) {
        let (name, value) = match part.split_once([':', '=']) {
            Some((name, value)) => (name, Some(value)),
            None => split_number(part),
        };
        match word(name) {
            Some(Word::Job) if spec.job.is_none() => spec.job = value.and_then(job),
            Some(Word::Replica) if spec.replica.is_none() => spec.replica = number(value.unwrap_or("")),
            Some(Word::Task) if spec.task.is_none() => spec.task = number(value.unwrap_or("")),
            Some(Word::Device) if !names_a_device(&spec) => device(&mut spec, value.unwrap_or("")),
            Some(Word::Type(kind)) if !names_a_device(&spec) => {
                spec.kind = Some(kind);
                spec.index = index(value);
            }
            None if !part.is_empty() => unknown.push((name, value)),
            _ => {}
        }
    }
    // An unknown word is read as a custom type only if it is the only one and nothing better names the
    // device.
    if let ([(name, value)], false) = (unknown.as_slice(), names_a_device(&spec)) {
        spec.kind = DeviceType::checked(name).ok();
        spec.index = spec.kind.as_ref().and_then(|_| index(*value));
    }
    (!spec.is_empty()).then(|| format!("/{}", format!("{spec:#}").trim_start_matches('/')))
}

fn names_a_device(spec: &DeviceSpec) -> bool {
    spec.kind.is_some() || spec.index.is_some()
}

#[derive(Clone)]
enum Word {
    Job,
    Replica,
    Task,
    Device,
    Type(DeviceType),
}

fn word(name: &str) -> Option<Word> {
    let known = [
        ("job", Word::Job),
        ("replica", Word::Replica),
        ("task", Word::Task),
        ("device", Word::Device),
        ("cpu", Word::Type(DeviceType::Cpu)),
        ("gpu", Word::Type(DeviceType::Gpu)),
    ];
    let name = name.to_ascii_lowercase();
    // What other systems call these devices.
    match name.as_str() {
        "cuda" | "rocm" | "hip" | "mps" | "metal" | "vulkan" | "wgpu" => {
            return Some(Word::Type(DeviceType::Gpu));
        }
        "host" => return Some(Word::Type(DeviceType::Cpu)),
        _ => {}
    }
    let allowed = if name.len() <= 4 { 1 } else { 2 };
    let scored = known.map(|(text, word)| (edit_distance(&name, text), word));
    let best = scored.iter().map(|(distance, _)| *distance).min()?;
    let mut nearest = scored.into_iter().filter(|(distance, _)| *distance == best && best <= allowed);
    match (nearest.next(), nearest.next()) {
        (Some((_, word)), None) => Some(word),
        // As near to CPU as to GPU ("tpu"): a guess would be a coin toss.
        _ => None,
    }
}

/// `gpu0` and `gpu-0` as `gpu` and `0`: a colon forgotten, or mistaken.
fn split_number(part: &str) -> (&str, Option<&str>) {
    let before = part.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = before.trim_end_matches(['-', '_', '#']);
    if name.is_empty() || before.len() == part.len() {
        (part, None)
    } else {
        (name, Some(&part[before.len()..]))
    }
}

fn job(text: &str) -> Option<JobName> {
    let word: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let word = word.trim_matches('_');
    let word =
        if word.starts_with(|c: char| c.is_ascii_digit()) { format!("job{word}") } else { word.to_owned() };
    JobName::checked(&word).ok()
}

fn device(spec: &mut DeviceSpec, text: &str) {
    let (kind, rest) = match text.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (text, None),
    };
    match DeviceType::checked(kind) {
        Ok(kind) => {
            spec.kind = Some(kind);
            spec.index = index(rest);
        }
        // `/device:0`, `/device::0`
        Err(_) => spec.index = index(rest.or(Some(kind))),
    }
}

/// A device's index: absent stays absent.
fn index(text: Option<&str>) -> Option<u32> {
    text.filter(|text| !text.is_empty()).and_then(number)
}

/// The digits the text begins with; zero, the number that most devices and tasks have, if there are none.
fn number(text: &str) -> Option<u32> {
    let text = text.trim_start_matches('+');
    if text == "*" {
        return None;
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some(text[..digits].parse().unwrap_or(0))
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
fn edit_distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut before_last: Vec<usize> = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let substitution = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = substitution.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_a_swap_of_neighbours_once() {
        assert_eq!(edit_distance("gpu", "gpu"), 0);
        assert_eq!(edit_distance("pgu", "gpu"), 1);
        assert_eq!(edit_distance("gppu", "gpu"), 1);
        assert_eq!(edit_distance("", "job"), 3);
        assert_eq!(edit_distance("devise", "device"), 1);
    }
}
