//! What goes wrong reaches the program as an error that says where.

use super::{epoch, numbers};
use situ_core::{DType, Error, Result};
use situ_data::{Dataset, Elements};
use situ_tensor::{Tensor, tensor, zeros};

fn first_error<E: Elements>(dataset: &Dataset<E>) -> Error {
    dataset.epoch(0).find_map(Result::err).expect("an error")
}

fn refuse(bad: i32) -> impl Fn(Tensor) -> Result<Tensor> + Clone + Send + Sync + 'static {
    move |x| if x.item::<i32>()? == bad { Err(Error::argument("test", "refused", "")) } else { Ok(x) }
}

#[test]
fn an_error_in_a_worker_has_the_elements_index_and_the_others_still_come() {
    for dataset in [
        numbers(100).map(refuse(37)),
        numbers(100).map_parallel(3, refuse(37)),
        numbers(100).map_parallel(2, refuse(37)).prefetch(4),
    ] {
        let items: Vec<_> = dataset.epoch(0).collect();
        assert_eq!(items.len(), 100);
        let Err(Error::Element(failed)) = &items[37] else { panic!("{:?}", items[37].as_ref().err()) };
        assert_eq!((failed.stage, failed.index), ("map", 37));
        assert_eq!(items.iter().filter(|i| i.is_err()).count(), 1);
    }
}

#[test]
fn the_index_is_that_of_the_source_even_after_a_shuffle() {
    let error = first_error(&numbers(100).shuffle(100, 3).map_parallel(2, refuse(37)).batch(8).prefetch(2));
    assert_eq!(error.to_string(), "map of element 37: test: refused");
}

#[test]
fn a_panic_in_a_closure_is_an_error_with_the_index() {
    let panics = |x: Tensor| if x.item::<i32>()? == 5 { panic!("by mistake") } else { Ok(x) };
    for dataset in [numbers(9).map(panics), numbers(9).map_parallel(2, panics)] {
        let error = first_error(&dataset).to_string();
        assert!(error.contains("map of element 5") && error.contains("panicked: by mistake"), "{error}");
    }
}

#[test]
fn elements_that_failed_can_be_left_out() {
    let good = numbers(6).map_parallel(2, refuse(3)).ignore_errors();
    assert_eq!(epoch(&good, 0), [0, 1, 2, 4, 5]);
}

#[test]
fn a_batch_with_a_failed_element_is_that_error_and_the_next_batch_comes() {
    let items: Vec<_> = numbers(9).map(refuse(4)).batch(3).epoch(0).collect();
    assert_eq!(items.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
}

#[test]
fn elements_of_different_shapes_make_no_batch() {
    let ragged = Dataset::from_generator(|| (1..4).map(|n| zeros(&[n], DType::F32)));
    let error = first_error(&ragged.batch(2)).to_string();
    assert!(error.contains("f32[1], f32[2]") && error.contains("elements 0 and 1"), "{error}");
}

#[test]
fn tensors_that_do_not_go_together_are_refused() {
    let x = zeros(&[3, 2], DType::F32).unwrap();
    let error = Dataset::from_tensors((x.clone(), tensor([1, 2]).unwrap())).err().unwrap().to_string();
    assert!(error.contains("f32[3, 2], i32[2]"), "{error}");
    assert!(Dataset::from_tensors(tensor(1).unwrap()).is_err());
    assert!(Dataset::from_tensors(Vec::new()).is_err());
}

#[test]
fn arguments_that_can_not_be_are_the_first_element() {
    let source = numbers(3);
    for (dataset, call) in [
        (source.batch(0), "batch"),
        (source.shuffle(0, 1), "shuffle"),
        (source.prefetch(0), "prefetch"),
        (source.map_parallel(0, Ok), "map_parallel"),
        (source.interleave(0, 1, |_| Ok(numbers(1))), "interleave"),
        (source.on_cores(&[]), "on_cores"),
        (source.on_device("/GPU:0"), "on_device"),
        (source.on_device("/CPU:77"), "on_device"),
        (source.prefetch_to_device("/GPUU:0"), "GPUU"),
        (source.prefetch_to_device("/GPU:77"), "GPU:77"),
    ] {
        let error = first_error(&dataset).to_string();
        assert!(error.contains(call), "{call}: {error}");
    }
}

#[test]
fn the_wrong_number_of_tensors_is_an_error_not_a_panic() {
    let wrong: Dataset<(Tensor, Tensor, Tensor)> = numbers(3).zip(&numbers(3));
    assert!(first_error(&wrong).to_string().contains("2 tensors, not 3"));
}

#[test]
fn a_generator_ends_at_its_error() {
    let failing = Dataset::from_generator(|| {
        (0..5).map(|n| if n < 2 { tensor(n) } else { Err(Error::argument("source", "dry", "")) })
    });
    let items: Vec<_> = failing.epoch(0).collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[2].as_ref().err().unwrap().to_string(), "from_generator of element 2: source: dry");
}
