//! What transformations make of elements.

use situ_core::{DType, Result};
use situ_data::{Dataset, Rng, augment, transform};
use situ_tensor::{Tensor, range, tensor, zeros};

fn image() -> Tensor {
    range(0.0f32, 12.0, 1.0).unwrap().reshape(&[3, 4, 1]).unwrap()
}

#[test]
fn rows_of_any_dtype_and_shape_arrive_in_batches_unchanged() {
    for dtype in DType::ALL {
        let x = range(0, 24, 1).unwrap().cast(dtype).unwrap().reshape(&[4, 3, 2]).unwrap();
        let y = x.transpose(&[1, 0, 2]).unwrap();
        for source in [x, y] {
            let joined =
                Dataset::from_tensors(source.clone()).unwrap().batch(100).iter().next().unwrap().unwrap();
            assert_eq!(joined.tensor_type(), source.tensor_type());
            assert_eq!(joined.to_bytes().unwrap(), source.to_bytes().unwrap());
        }
    }
    let empty_rows = Dataset::from_tensors(zeros(&[3, 0], DType::F32).unwrap()).unwrap().batch(2);
    let dims: Vec<_> = empty_rows.iter().map(|b| b.unwrap().shape().dims().to_vec()).collect();
    assert_eq!(dims, [[2, 0], [1, 0]]);
}

#[test]
fn a_map_over_elements_and_a_map_over_batches_agree() {
    let x = range(0.0f32, 40.0, 1.0).unwrap().reshape(&[10, 4]).unwrap();
    let source = Dataset::from_tensors(x).unwrap();
    let two = tensor(2.0f32).unwrap();
    let double = move |x: Tensor| x.mul(&two);
    let values =
        |d: Dataset<Tensor>| d.iter().map(|b| b.unwrap().to_vec::<f32>().unwrap()).collect::<Vec<_>>();
    let by_element = values(source.map_parallel(2, double.clone()).batch(4));
    assert_eq!(by_element, values(source.batch(4).map(double)));
}

#[test]
fn one_hot_pixels_and_normalisation_give_the_textbook_values() {
    let labels = tensor([2, 0]).unwrap();
    let rows = transform::one_hot(&labels, 3).unwrap();
    assert_eq!(rows.to_vec::<f32>().unwrap(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    let pixels = transform::pixels(&tensor([0u8, 51, 255]).unwrap()).unwrap().to_vec::<f32>().unwrap();
    assert!((pixels[1] - 0.2).abs() < 1e-6 && pixels[0] == 0.0 && (pixels[2] - 1.0).abs() < 1e-6);
    let x = tensor([[1.0f32, 5.0], [3.0, 5.0], [5.0, 5.0]]).unwrap();
    let normalized = transform::Normalize::of(&x).unwrap().apply(&x).unwrap().to_vec::<f32>().unwrap();
    let deviation = (8.0f32 / 3.0).sqrt();
    for (value, expected) in normalized.iter().zip([-2.0 / deviation, 0.0, 0.0, 0.0, 2.0 / deviation, 0.0]) {
        assert!((value - expected).abs() < 1e-6, "{normalized:?}");
    }
    let fixed = transform::Normalize::with(1.0, 2.0).unwrap();
    assert_eq!(fixed.apply(&tensor([3.0f32]).unwrap()).unwrap().to_vec::<f32>().unwrap(), [1.0]);
    assert!(transform::Normalize::with(0.0, 0.0).is_err());
    assert!(transform::Normalize::of(&labels).is_err());
}

#[test]
fn flips_mirror_about_half_of_the_images_and_the_seed_decides_which() {
    let mirrored = [3.0, 2.0, 1.0, 0.0, 7.0, 6.0, 5.0, 4.0, 11.0, 10.0, 9.0, 8.0];
    let flip = |seed| {
        let out = augment::random_flip(&image(), 1, &mut Rng::new(seed, 0)).unwrap().to_vec::<f32>().unwrap();
        let plain = out == image().to_vec::<f32>().unwrap();
        assert!(plain || out == mirrored, "{out:?}");
        !plain
    };
    let flipped = (0..200).filter(|&seed| flip(seed)).count();
    assert!((70..130).contains(&flipped), "{flipped} of 200");
    assert_eq!(flip(5), flip(5));
    assert!(augment::random_flip(&image(), 3, &mut Rng::new(0, 0)).is_err());
}

#[test]
fn crops_lie_within_the_image_and_reach_every_place() {
    let mut corners = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let part = augment::random_crop(&image(), &[2, 2], &mut Rng::new(seed, 0)).unwrap();
        assert_eq!(part.shape().dims(), [2, 2, 1]);
        let v = part.to_vec::<f32>().unwrap();
        assert_eq!([v[1] - v[0], v[2] - v[0], v[3] - v[0]], [1.0, 4.0, 5.0]);
        corners.insert(v[0] as i32);
    }
    assert_eq!(corners.into_iter().collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6]);
    assert!(augment::random_crop(&image(), &[4, 2], &mut Rng::new(0, 0)).is_err());
}

#[test]
fn noise_has_the_deviation_asked_for_and_comes_from_the_seed() {
    let flat = zeros(&[64, 64], DType::F32).unwrap();
    let noise =
        |seed| augment::random_noise(&flat, 0.5, &mut Rng::new(seed, 0)).unwrap().to_vec::<f32>().unwrap();
    let (a, b) = (noise(1), noise(2));
    assert_eq!(a, noise(1));
    assert_ne!(a, b);
    let mean = a.iter().sum::<f32>() / 4096.0;
    let deviation = (a.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / 4096.0).sqrt();
    assert!(mean.abs() < 0.05 && (deviation - 0.5).abs() < 0.05, "{mean} {deviation}");
}

#[test]
fn rows_without_elements_make_batches_too() -> Result<()> {
    let empty = situ_tensor::zeros(&[5, 0], situ_core::DType::F32)?;
    let rows = Dataset::from_tensors(empty)?;
    for dataset in [rows.batch(2), rows.map(Ok).batch(2), rows.shuffle(5, 1).batch(2)] {
        let shapes: Vec<Vec<usize>> =
            dataset.epoch(0).map(|x| Ok(x?.shape().dims().to_vec())).collect::<Result<_>>()?;
        assert_eq!(shapes, [[2, 0], [2, 0], [1, 0]]);
    }
    Ok(())
}
