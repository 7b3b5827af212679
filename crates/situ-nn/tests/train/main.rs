//! Training as a whole, on models small enough to be checked by hand.

mod callbacks;
mod checkpoint;
mod fit;
mod freezing;
mod model;
mod optimizers;
mod places;
