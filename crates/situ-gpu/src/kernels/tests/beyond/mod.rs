//! Sizes beyond what one invocation, one workgroup or one dispatch may do. Ones tell how many elements were
//! counted, other numbers whether they were the right ones.

mod conv2d;
mod index;
mod matmul;
mod normalise;
mod pool2d;
mod reduce;
mod rows;
