//! Text from elsewhere, made fit for a terminal: control characters are written out.
//!
//! A name in somebody's file may hold what moves the cursor, sets a title, or turns the direction of writing.
//! Shown as it is, it could fake lines or rewrite the screen.

use std::borrow::Cow;

/// Whether a character does something to a terminal, or to the order of the text around it, instead of being
/// shown.
pub fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with every control character, line ends among them, as `\u{1b}`.
///
/// ```
/// assert_eq!(situ_core::visible("a\u{1b}[31m\n"), "a\\u{1b}[31m\\u{a}");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, is_hidden)
}

/// The same for a text of several lines: they stay lines.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    written_out(text, |c| c != '\n' && is_hidden(c))
}

fn written_out(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_or_turns_a_line_is_written_out_and_all_else_stays() {
        let plain = "dense_1/matmul, Größe 3×4 中 «→» 🎉";
        assert!(matches!(visible(plain), Cow::Borrowed(text) if text == plain));
        assert_eq!(visible("\u{9b}2J\u{7}\r\t\u{202e}"), "\\u{9b}2J\\u{7}\\u{d}\\u{9}\\u{202e}");
        assert_eq!(visible_lines("one\r\ntwo\u{1b}c"), "one\\u{d}\ntwo\\u{1b}c");
    }
}
