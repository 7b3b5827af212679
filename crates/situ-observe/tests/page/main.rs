//! The report page: what is in it, and what Chromium makes of it.

mod browser;
mod contents;
mod in_chromium;
mod made;
mod trained;
