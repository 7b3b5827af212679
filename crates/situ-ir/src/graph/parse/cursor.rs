//! A place in a text, and the small pieces that can be read there.

use situ_core::{Error, Result};

/// How deep blocks and attributes may stand in one another: deeper than any program, and no danger to the
/// stack.
const DEEPEST: usize = 64;

/// A text, and how far it has been read.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0, depth: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes past spaces, line breaks and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// Where the next piece begins, for an error about it.
    pub(super) fn place(&mut self) -> usize {
        self.skip();
        self.at
    }

    /// The error of something at a place.
    #[cold]
    pub(super) fn error(&self, place: usize, why: impl Into<String>, help: &str) -> Error {
        let before = &self.text[..place];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Error::argument("graph text", format!("line {line}, column {column}: {}", why.into()), help)
    }

    #[cold]
    fn expected(&mut self, what: &str) -> Error {
        let place = self.place();
        let found: String = self.rest().chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let found = if found.is_empty() { "the end".to_string() } else { format!("{found:?}") };
        self.error(place, format!("expected {what}, found {found}"), "")
    }

    /// Goes one block or attribute further in.
    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth <= DEEPEST {
            return Ok(());
        }
        let place = self.place();
        Err(self.error(place, format!("blocks stand {DEEPEST} deep in one another"), "nest less"))
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether `sign` comes next.
    pub(super) fn peek(&mut self, sign: &str) -> bool {
        self.skip();
        self.rest().starts_with(sign)
    }

    /// Goes past `sign` if it comes next.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        let there = self.peek(sign);
        self.at += if there { sign.len() } else { 0 };
        there
    }

    /// Goes past `sign` if it stands right here, with no space before it.
    pub(super) fn follows(&mut self, sign: &str) -> bool {
        let there = self.rest().starts_with(sign);
        self.at += if there { sign.len() } else { 0 };
        there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(self.expected(&format!("{sign:?}"))) }
    }

    fn peek_name(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    }

    /// Letters, digits and underscores, beginning with no digit.
    pub(super) fn name(&mut self) -> Result<&'a str> {
        let name = self.peek_name();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.expected("a name"));
        }
        self.at += name.len();
        Ok(name)
    }

    /// Letters, digits and underscores, whatever they begin with.
    pub(super) fn name_or_digits(&mut self) -> &'a str {
        let name = self.peek_name();
        self.at += name.len();
        name
    }

    /// What has been read since a place.
    pub(super) fn since(&self, place: usize) -> &'a str {
        &self.text[place..self.at]
    }

    /// Goes past that word if it comes next.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek_name() == word;
        self.at += if there { word.len() } else { 0 };
        there
    }

    pub(super) fn word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.expected(&format!("{word:?}"))) }
    }

    /// Digits, in range of the type.
    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let place = self.place();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.expected("a whole number"));
        }
        let digits = &rest[..end];
        self.at += end;
        digits
            .parse()
            .map_err(|_| self.error(place, format!("{digits} is too large"), "give a smaller number"))
    }

    /// A number with sign, point and exponent, as it stands there; also `inf` and `NaN`.
    pub(super) fn numeral(&mut self) -> Result<&'a str> {
        self.skip();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        for word in ["inf", "NaN"] {
            if rest[sign..].starts_with(word) {
                self.at += sign + word.len();
                return Ok(&rest[..sign + word.len()]);
            }
        }
        let mut end = sign;
        let mut exponent = false;
        for c in rest[sign..].bytes() {
            let sign_of_exponent = exponent && matches!(c, b'-' | b'+');
            if !c.is_ascii_digit() && !matches!(c, b'.' | b'e' | b'E') && !sign_of_exponent {
                break;
            }
            exponent = matches!(c, b'e' | b'E');
            end += 1;
        }
        if end == sign {
            return Err(self.expected("a number"));
        }
        self.at += end;
        Ok(&rest[..end])
    }

    /// Everything up to the next space.
    pub(super) fn until_space(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// One or more, separated by commas.
    pub(super) fn list<T>(&mut self, mut one: impl FnMut(&mut Cursor<'a>) -> Result<T>) -> Result<Vec<T>> {
        let mut list = vec![one(self)?];
        while self.take(",") {
            list.push(one(self)?);
        }
        Ok(list)
    }

    /// An error unless the text ends here.
    pub(super) fn end(&mut self) -> Result<()> {
        self.skip();
        if self.rest().is_empty() { Ok(()) } else { Err(self.expected("the end")) }
    }
}
