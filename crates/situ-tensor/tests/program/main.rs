//! What programs see: methods, views, scopes, wrong calls, on the CPU and on a GPU.

mod bad_input;
mod bad_values;
mod methods;
mod numbers;
mod reading;
mod views;
