//! A record as one page: an HTML file that needs nothing but a browser.
//!
//! Promises: the file stands by itself (its own policy forbids it the network), whatever is in the record can
//! not break out of the data into the page, and anything that a record may hold makes a page. Leaves to
//! others: what there is to say (`findings`), and opening a browser.
//!
//! Rust prepares what takes thought: rows of the timeline, why devices stood still, the layout of the graph,
//! sums. The scripts in `assets/` draw it; they are plain, have no parts from elsewhere, and each file has
//! one part of the page.

mod columns;
mod copies;
mod data;
mod graph;
mod idle;
mod layout;
mod numbers;

use crate::record::Record;
use situ_core::{Result, replace_file};
use std::io::Write;
use std::path::Path;

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
/// In the order in which they need each other.
const SCRIPTS: [&str; 8] = [
    include_str!("assets/look.js"),
    include_str!("assets/details.js"),
    include_str!("assets/tracks.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/graph.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/start.js"),
];

/// The page of a record.
///
/// ```
/// let record = situ_observe::Record { title: "a </script> in a name".into(), ..Default::default() };
/// let page = situ_observe::page::html(&record);
/// assert!(page.starts_with("<!doctype html>"));
/// assert_eq!(page.matches("</script>").count(), 2); // the ends of the data and of the script, and no other
/// ```
pub fn html(record: &Record) -> String {
    let title = if record.title.is_empty() { "A record" } else { &record.title };
    let parts = [
        ("{{title}}", escaped(title)),
        ("{{style}}", STYLE.to_string()),
        ("{{data}}", inside_a_script(&data::of(record))),
        ("{{script}}", SCRIPTS.join("\n")),
    ];
    let mut page =
        String::with_capacity(parts.iter().map(|(_, text)| text.len()).sum::<usize>() + TEMPLATE.len());
    let mut rest = TEMPLATE;
    // In the order of the template, so that nothing that was put in is looked through for places.
    for (place, text) in parts {
        if let Some((before, after)) = rest.split_once(place) {
            page.push_str(before);
            page.push_str(&text);
            rest = after;
        }
    }
    page.push_str(rest);
    page
}

impl Record {
    /// Writes its page to a file.
    pub fn save_page(&self, path: impl AsRef<Path>) -> Result<()> {
        let page = html(self);
        replace_file(path, |file| file.write_all(page.as_bytes()))
    }
}

/// Text between tags.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// JSON between script tags: no `<` can begin a tag, and the two line ends that JSON has and scripts had not
/// are written out.
fn inside_a_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}
