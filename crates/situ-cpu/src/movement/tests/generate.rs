//! Fill, eye and range: tensors made of nothing.

use super::*;

#[test]
fn fill_writes_every_element_and_nothing_beyond() {
    for count in [0, 1, 5, 1000, 300_001] {
        everywhere(|exec| {
            let mut words = vec![0u32; count + 4];
            let mut bytes = vec![0u8; count + 4];
            // SAFETY: both have room for `count` elements.
            unsafe {
                fill(exec, 4, 0xdead_beef, words.as_mut_ptr().cast(), count);
                fill(exec, 1, 0xab, bytes.as_mut_ptr(), count);
            }
            assert!(words[..count].iter().all(|w| *w == 0xdead_beef) && words[count..] == [0; 4]);
            assert!(bytes[..count].iter().all(|w| *w == 0xab) && bytes[count..] == [0; 4]);
        });
    }
}

#[test]
fn eye_has_ones_on_its_diagonal_for_any_proportion() {
    for (rows, columns) in [(0, 4), (4, 0), (1, 1), (5, 3), (3, 5), (700, 300), (2, 90_000)] {
        everywhere(|exec| {
            let mut got = vec![9u32; rows * columns];
            // SAFETY: the result has so many rows and columns.
            unsafe { eye(exec, 4, rows, columns, 1, got.as_mut_ptr().cast()) };
            for (at, value) in got.iter().enumerate() {
                assert_eq!(*value, u32::from(at / columns == at % columns));
            }
        });
    }
}

#[test]
fn a_range_rounds_product_and_sum_apart_on_every_level_and_integers_wrap() {
    let count = 100_003;
    everywhere(|exec| {
        let mut floats = vec![0f32; count];
        let mut wide = vec![0f64; count];
        let mut whole = vec![0i32; count];
        let mut bytes = vec![0u8; count];
        // SAFETY: all have room for `count` elements.
        unsafe {
            range(exec, 0.1f32, -0.3, floats.as_mut_ptr(), count);
            range(exec, 1e9f64, 0.7, wide.as_mut_ptr(), count);
            range(exec, i32::MAX - 10, 3, whole.as_mut_ptr(), count);
            range(exec, 250u8, 7, bytes.as_mut_ptr(), count);
        }
        for i in 0..count {
            assert_eq!(floats[i].to_bits(), (0.1f32 + std::hint::black_box(i as f32 * -0.3)).to_bits());
            assert_eq!(wide[i].to_bits(), (1e9 + std::hint::black_box(i as f64 * 0.7)).to_bits());
            assert_eq!(whole[i], (i32::MAX - 10).wrapping_add(3i32.wrapping_mul(i as i32)));
            assert_eq!(bytes[i], 250u8.wrapping_add(7u8.wrapping_mul(i as u8)));
        }
    });
}
