//! Training as a whole, on models small enough to be checked by hand.

mod bad_batch;
mod callbacks;
mod checkpoint;
mod decay;
mod fit;
mod freezing;
mod lines;
mod memory;
mod misuse;
mod model;
mod not_a_number;
mod optimizers;
mod places;
mod resuming;
mod rows;
mod rows_in_programs;
