//! The op suite at the sizes that people use, on every device, eagerly and in functions; tensors beyond the
//! largest buffer, and beyond 2³¹ elements. `SITU_LARGE=all` runs all of it, else what is quick.

mod beyond;
mod devices;
mod vast;
