//! A longer program.
