//! Datasets as programs use them.

mod devices;
mod ending;
mod errors;
mod files;
mod order;
mod tables;
mod values;
mod waiting;

use situ_core::Result;
use situ_data::Dataset;
use situ_tensor::Tensor;

/// The numbers from 0 to `count` − 1, as elements.
fn numbers(count: i32) -> Dataset<Tensor> {
    Dataset::from_tensors(situ_tensor::range(0, count, 1).unwrap()).unwrap()
}

/// The elements of an epoch, which are single numbers.
fn epoch(dataset: &Dataset<Tensor>, epoch: u64) -> Vec<i32> {
    dataset.epoch(epoch).map(|x| x?.item()).collect::<Result<_>>().unwrap()
}

/// The values of each element, batches for one.
fn batches(dataset: &Dataset<Tensor>) -> Vec<Vec<i32>> {
    dataset.epoch(0).map(|x| x?.to_vec()).collect::<Result<_>>().unwrap()
}
