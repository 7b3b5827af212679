//! Gather, one-hot and scatter: slices along an axis, by indices.

use super::*;

#[test]
fn a_gather_of_any_element_size_takes_slices_in_order_of_the_indices() {
    fn check<T: Plain>(exec: &Exec<'_>, dims: &[usize], axis: usize, indices: &[i32]) {
        let wide: Vec<i64> = indices.iter().map(|i| i64::from(*i)).collect();
        let data: Vec<T> = numbers(dims.iter().product());
        let strides = shape(dims).dense_strides();
        let slice: usize = dims[axis + 1..].iter().product();
        let outer: usize = dims[..axis].iter().product();
        let from = Gather {
            start: data.as_ptr().cast(),
            size: size_of::<T>(),
            outer: (&dims[..axis], &strides[..axis]),
            axis: (dims[axis], strides[axis]),
            slice,
        };
        let mut want = vec![];
        for place in 0..outer {
            for index in indices {
                let first = (place * dims[axis] + *index as usize) * slice;
                want.extend_from_slice(&data[first..first + slice]);
            }
        }
        let mut got = vec![T::default(); want.len()];
        // SAFETY: the view is the whole of the data, and the result has a slice for each place and index.
        unsafe {
            gather(exec, from, indices, got.as_mut_ptr().cast()).unwrap();
            assert!(got == want, "{dims:?} along {axis}");
            got.fill(T::default());
            gather(exec, from, &wide, got.as_mut_ptr().cast()).unwrap();
            assert!(got == want, "{dims:?} along {axis}");
        }
    }
    for (dims, axis, indices) in [
        (&[5][..], 0, &[4, 0, 0, 2][..]),
        (&[5, 3], 0, &[1, 1, 4]),
        (&[5, 3], 1, &[2, 0]),
        (&[2, 6, 7], 1, &[5, 3, 3, 0, 1]),
        (&[2, 6, 0], 1, &[5]),
        (&[0, 6, 2], 1, &[5]),
        (&[3, 4], 0, &[]),
        (&[40, 50, 60], 2, &[7, 59, 0, 33, 12, 12]),
        (&[3, 70_000], 0, &[2, 0, 2, 1]),
    ] {
        everywhere(|exec| {
            check::<u8>(exec, dims, axis, indices);
            check::<u32>(exec, dims, axis, indices);
            check::<u64>(exec, dims, axis, indices);
        });
    }
}

#[test]
fn a_gather_reads_strided_outer_axes_and_a_backward_axis_in_place() {
    // [4, 5, 6] with the first two axes swapped in memory and the axis that is indexed backwards.
    let data: Vec<u32> = numbers(120);
    let (dims, strides) = ([4usize, 5, 6], [6isize, -24, 1]);
    let from = Gather {
        start: data[4 * 24..].as_ptr().cast(),
        size: 4,
        outer: (&dims[..1], &strides[..1]),
        axis: (5, strides[1]),
        slice: 6,
    };
    let indices = [3i64, 0, 4];
    let mut got = vec![0u32; 4 * 3 * 6];
    here_and_there(|exec| {
        // SAFETY: the strides stay within the data: index i of the axis is block 4 - i.
        unsafe { gather(exec, from, &indices, got.as_mut_ptr().cast()) }.unwrap();
        for (at, index) in indices_of(&[4, 3, 6]).enumerate() {
            let block = 4 - indices[index[1]] as usize;
            assert_eq!(got[at], data[block * 24 + index[0] * 6 + index[2]]);
        }
    });
}

#[test]
fn the_first_index_out_of_range_is_reported_whatever_the_threads() {
    let data: Vec<u32> = numbers(30);
    let mut indices: Vec<i32> = (0..200_000).map(|i| i % 10).collect();
    indices[150_001] = -1;
    indices[150_000] = 10;
    indices[199_999] = i32::MIN;
    for slice in [1, 3] {
        let from = Gather {
            start: data.as_ptr().cast(),
            size: 4,
            outer: (&[], &[]),
            axis: (10, slice as isize),
            slice,
        };
        let mut got = vec![0u32; indices.len() * slice];
        everywhere(|exec| {
            // SAFETY: the view is within the data, and the result has a slice for each index.
            let found = unsafe { gather(exec, from, &indices, got.as_mut_ptr().cast()) };
            assert_eq!(found, Err(OutOfRange { position: 150_000, value: 10 }));
        });
    }
}

#[test]
fn an_index_into_an_empty_axis_or_beside_empty_slices_is_out_of_range_too() {
    let pool = Threads::new(2, None).unwrap();
    let exec = Exec::new(&pool);
    let empty = |limit, slice| Gather {
        start: std::ptr::null(),
        size: 4,
        outer: (&[], &[]),
        axis: (limit, slice as isize),
        slice,
    };
    // SAFETY: nothing is read or written: there is no element, or no index that is in range.
    unsafe {
        let to = std::ptr::null_mut();
        assert_eq!(gather(&exec, empty(0, 3), &[0i64], to), Err(OutOfRange { position: 0, value: 0 }));
        assert_eq!(gather(&exec, empty(2, 0), &[1i64, 2], to), Err(OutOfRange { position: 1, value: 2 }));
        assert_eq!(gather(&exec, empty(2, 0), &[1i64, 0], to), Ok(()));
        assert_eq!(gather::<i64>(&exec, empty(0, 3), &[], to), Ok(()));
    }
}

#[test]
fn one_hot_sets_one_element_a_row_and_none_for_an_index_out_of_range() {
    for depth in [0, 1, 3, 1500] {
        let indices: Vec<i64> = (0..700).map(|i| i * 7 % (depth as i64 + 3) - 1).collect();
        let narrow: Vec<i32> = indices.iter().map(|i| *i as i32).collect();
        let hot = |row: usize, column: usize| indices[row] == column as i64;
        let want: Vec<u8> =
            (0..700 * depth).map(|at| if hot(at / depth, at % depth) { 7 } else { 3 }).collect();
        everywhere(|exec| {
            let (mut small, mut wide) = (vec![0u8; want.len()], vec![0u64; want.len()]);
            // SAFETY: the results have a row for each index.
            unsafe {
                one_hot(exec, 1, &indices, depth, [7, 3], small.as_mut_ptr());
                one_hot(exec, 8, &narrow, depth, [7, 3], wide.as_mut_ptr().cast());
            }
            assert_eq!(small, want);
            assert!(wide.iter().zip(&want).all(|(a, b)| *a == u64::from(*b)));
        });
    }
}

#[test]
fn scatter_add_sums_repeated_indices_in_order_on_any_number_of_threads() {
    for (dims, axis, count) in [
        (&[7][..], 0, 500),
        (&[10, 40], 0, 3000),
        (&[10, 200], 0, 3000),
        (&[3, 2], 0, 40_000),
        (&[3, 70], 0, 40_000),
        (&[3, 9, 17], 1, 100),
        (&[500, 6], 1, 40),
        (&[2, 0], 0, 3),
        (&[0, 4], 1, 3),
        (&[4, 5], 0, 0),
    ] {
        let extent = Slices {
            outer: dims[..axis].iter().product(),
            axis: dims[axis],
            slice: dims[axis + 1..].iter().product(),
        };
        let indices: Vec<i64> = (0..count).map(|i: i64| i * i % 31 % dims[axis] as i64).collect();
        let narrow: Vec<i32> = indices.iter().map(|i| *i as i32).collect();
        // Numbers of such different sizes that the order of the sums shows in the bits.
        let updates: Vec<f32> = (0..extent.outer * indices.len() * extent.slice)
            .map(|i| ((i * 7919) % 1000) as f32 * 10f32.powi((i % 9) as i32 - 4))
            .collect();
        let base: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| i as f32 * 0.1).collect();
        let mut want = base.clone();
        for place in 0..extent.outer {
            for (i, index) in indices.iter().enumerate() {
                for k in 0..extent.slice {
                    want[(place * extent.axis + *index as usize) * extent.slice + k] +=
                        updates[(place * indices.len() + i) * extent.slice + k];
                }
            }
        }
        everywhere(|exec| {
            let (mut a, mut b) = (base.clone(), base.clone());
            // SAFETY: the tensors have the extent given, and updates a slice for each place and index.
            unsafe {
                scatter_add(exec, a.as_mut_ptr(), extent, &indices, updates.as_ptr()).unwrap();
                scatter_add(exec, b.as_mut_ptr(), extent, &narrow, updates.as_ptr()).unwrap();
            }
            assert!(a == want && b == want, "{dims:?} along {axis}");
        });
    }
}

#[test]
fn scatter_add_reports_the_first_index_out_of_range_and_adds_the_others() {
    let indices = [0i64, 2, -1, 3, 1];
    let updates = [1u8, 255, 7, 7, 3];
    here_and_there(|exec| {
        let mut to = [1u8, 1, 1];
        let extent = Slices { outer: 1, axis: 3, slice: 1 };
        // SAFETY: three elements, and an update for each index.
        let found = unsafe { scatter_add(exec, to.as_mut_ptr(), extent, &indices, updates.as_ptr()) };
        assert_eq!(found, Err(OutOfRange { position: 2, value: -1 }));
        assert_eq!(to, [2, 4, 0]);
    });
}
