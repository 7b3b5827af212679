//! Reading other people's JSON: the same values, with control characters in their texts written out.
//!
//! Names from files end in tables, errors and pages; they are made fit to be shown where they come in, once.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use situ_core::visible;

/// Reads a value; control characters in its texts and names are as [`visible()`] writes them.
pub fn from_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if !may_hide(text) {
        return serde_json::from_str(text);
    }
    let shown = shown(serde_json::from_str(text)?);
    serde_json::from_value(shown)
}

/// Whether a text may hold a control character: written out by JSON, or one that JSON lets stand. Line ends
/// between values are none.
fn may_hide(text: &str) -> bool {
    let escapes = text.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && !matches!(pair[1], b'"' | b'/'));
    escapes
        || (!text.is_ascii() && text.chars().any(|c| !c.is_ascii() && visible::is_hidden(c)))
        || text.contains('\x7f')
}

fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(&text).into_owned()),
        Value::Array(values) => Value::Array(values.into_iter().map(shown).collect()),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (visible(&name).into_owned(), shown(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn control_characters_in_texts_and_names_are_written_out() {
        let read: HashMap<String, Vec<String>> =
            from_json("{\"a\\u001b\": [\"\\r\\n\", \"\u{9b}\", \"\\\"\\\\n\"]}").unwrap();
        assert_eq!(read["a\\u{1b}"], ["\\u{d}\\u{a}", "\\u{9b}", "\"\\n"]);
        assert!(!may_hide("{\n\t\"a\": \"\\\"b\\\" größer\"}"));
    }

    #[test]
    fn numbers_keep_every_digit_on_both_ways() {
        let text = "[0.1, 1e-300, 9007199254740993, 123456789.12345679]";
        let plain: Vec<f64> = from_json(text).unwrap();
        let hidden: (Vec<f64>, String) = from_json(&format!("[{text}, \"\\n\"]")).unwrap();
        assert_eq!(plain, hidden.0);
    }
}
