//! The model: what a file may say, and that every answer obeys it.

mod files;
mod graphs;
mod rules;
