//! Text for people: headings, tables, colours where there is a terminal to show them.

use anyhow::Result;
use comfy_table::{Cell, Color, ContentArrangement, LineStyle, Table, presets};
use serde::Serialize;
use situ::{visible, visible_lines};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// Where a command writes to.
pub(crate) struct Screen {
    out: Box<dyn Write>,
    colour: bool,
}

/// How a word is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Worth a look.
    Mind,
    /// Something is broken, or can't be.
    Bad,
}

impl Screen {
    /// Standard output, in colour if it is a terminal and nobody asked for none.
    pub(crate) fn stdout() -> Screen {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let colour = wanted && std::io::stdout().is_terminal();
        Screen { out: Box::new(std::io::stdout()), colour }
    }

    /// Lines of text. What is in them may come from a file: it has no say over the terminal.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "{}", visible_lines(text))?;
        Ok(())
    }

    /// A heading, after an empty line.
    pub(crate) fn heading(&mut self, text: &str) -> Result<()> {
        let text = visible(text);
        if self.colour {
            writeln!(self.out, "\n\x1b[1m{text}\x1b[0m")?;
        } else {
            writeln!(self.out, "\n{text}")?;
        }
        Ok(())
    }

    pub(crate) fn table(&mut self, header: &[&str], rows: Vec<Vec<Cell>>) -> Result<()> {
        let mut table = Table::new();
        let rule = LineStyle::new(' ', '─', ' ', ' ');
        table.load_style(presets::NOTHING.header_separator(rule));
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(header);
        table.add_rows(rows.into_iter().map(|row| row.into_iter().map(harmless)));
        writeln!(self.out, "{}", table.trim_fmt())?;
        Ok(())
    }

    /// A cell whose tone shows where there is colour.
    pub(crate) fn toned(&self, text: impl ToString, tone: Tone) -> Cell {
        let cell = Cell::new(text);
        if !self.colour {
            return cell;
        }
        cell.fg(match tone {
            Tone::Good => Color::Green,
            Tone::Mind => Color::Yellow,
            Tone::Bad => Color::Red,
        })
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.line(&text)
    }
}

/// The same cell; one with control characters in it loses its colour with them.
fn harmless(cell: Cell) -> Cell {
    let text = cell.content();
    match visible_lines(&text) {
        Cow::Borrowed(_) => cell,
        Cow::Owned(shown) => Cell::new(shown),
    }
}

/// `0-3, 6`: a list of cores as people write it.
pub(crate) fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &n in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let one = |(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    parts.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 6, 8, 9]), "0-3, 6, 8-9");
        assert_eq!(ranges(&[]), "");
    }
}
