//! Training as a whole, on models small enough to be checked by hand.

mod bad_batch;
mod callbacks;
mod checkpoint;
mod fit;
mod freezing;
mod memory;
mod model;
mod not_a_number;
mod optimizers;
mod places;
