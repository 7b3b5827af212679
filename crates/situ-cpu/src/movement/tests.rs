//! Every mover against a plain loop over indices: every layout, element size, level and several thread
//! counts.

use super::*;
use crate::exec::Exec;
use crate::level::Level;
use crate::threads::Threads;
use situ_core::{Layout, Shape};

/// An element of every size the movers know.
trait Plain: Copy + PartialEq + std::fmt::Debug + Default {
    fn number(i: usize) -> Self;
}
impl Plain for u8 {
    fn number(i: usize) -> u8 {
        (i % 251) as u8
    }
}
impl Plain for u32 {
    fn number(i: usize) -> u32 {
        i as u32 + 1
    }
}
impl Plain for u64 {
    fn number(i: usize) -> u64 {
        (i as u64 + 1) << 20
    }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims).unwrap()
}

fn source<'a, T>(data: &[T], layout: &'a Layout) -> Source<'a> {
    Source {
        start: data.as_ptr().wrapping_add(layout.offset()).cast(),
        shape: layout.shape(),
        strides: layout.strides(),
    }
}

/// Layouts of that shape, and how many elements of memory each needs.
fn layouts(dims: &[usize]) -> Vec<(Layout, usize)> {
    let rank = dims.len();
    let target = shape(dims);
    let all = target.elements();
    let mut made = vec![(Layout::dense(target), all)];
    // Every rotation of the axes, the axes in reverse order, and the first two swapped.
    let mut orders: Vec<Vec<usize>> =
        (1..rank).map(|by| (0..rank).map(|a| (a + by) % rank).collect()).collect();
    orders.push((0..rank).rev().collect());
    if rank > 2 {
        orders.push([1, 0].into_iter().chain(2..rank).collect());
    }
    for order in orders {
        // Memory holds the axes in this order; the view puts them back.
        let stored: Vec<usize> = order.iter().map(|a| dims[*a]).collect();
        let mut back = vec![0; rank];
        order.iter().enumerate().for_each(|(at, a)| back[*a] = at);
        made.push((Layout::dense(shape(&stored)).permute(&back, target), all));
    }
    // One axis repeated, every axis backwards, and every second element of every axis.
    for axis in 0..rank {
        let mut small = dims.to_vec();
        small[axis] = 1;
        made.push((Layout::dense(shape(&small)).expand(target), small.iter().product()));
    }
    let dense = target.dense_strides();
    let backwards: Vec<isize> = dense[..rank].iter().map(|s| -s).collect();
    made.push((Layout::strided(target, &backwards, all.saturating_sub(1)), all));
    let doubled: Vec<usize> = dims.iter().map(|d| d * 2).collect();
    let (starts, steps) = (vec![1; rank], vec![2; rank]);
    made.push((Layout::dense(shape(&doubled)).slice(&starts, &steps, target), doubled.iter().product()));
    made
}

fn numbers<T: Plain>(count: usize) -> Vec<T> {
    (0..count).map(T::number).collect()
}

/// Calls `f` with every level and several thread counts, with and without streaming.
fn everywhere(mut f: impl FnMut(&Exec<'_>)) {
    for threads in [1, 2, 3, 5] {
        let pool = Threads::new(threads, None).unwrap();
        for level in Level::available() {
            for streaming_bytes in [usize::MAX, 1] {
                f(&Exec { level, threads: &pool, streaming_bytes });
            }
        }
    }
}

/// Few settings, for tests that are about shapes.
fn here_and_there(mut f: impl FnMut(&Exec<'_>)) {
    let pool = Threads::new(3, None).unwrap();
    f(&Exec { level: Level::detect(), threads: &pool, streaming_bytes: usize::MAX });
    f(&Exec { level: Level::Portable, threads: &pool, streaming_bytes: 1 });
}

fn copies_right<T: Plain>(exec: &Exec<'_>, layout: &Layout, memory: usize) {
    let data: Vec<T> = numbers(memory);
    let want: Vec<T> = layout.offsets().map(|at| data[at]).collect();
    let mut got = vec![T::default(); want.len()];
    // SAFETY: the layout stays within the data made for it.
    unsafe { copy(exec, size_of::<T>(), source(&data, layout), got.as_mut_ptr().cast()) };
    assert!(got == want, "{layout:?} of {} bytes at {}", size_of::<T>(), exec.level);
}

#[test]
fn a_copy_of_any_layout_and_element_size_is_what_a_loop_over_indices_gives() {
    for dims in [
        &[][..],
        &[1],
        &[17],
        &[0, 3],
        &[3, 0, 2],
        &[3, 5],
        &[9, 11],
        &[130, 67],
        &[5, 300],
        &[300, 5],
        &[4, 3, 2],
        &[33, 4, 20],
        &[2, 70, 3, 9],
        &[130, 140, 2],
        &[130, 140, 3],
        &[70, 50, 19],
        &[3, 2, 4, 2, 5],
        &[2, 3, 2, 1, 2, 3, 2, 2],
    ] {
        for (layout, memory) in layouts(dims) {
            here_and_there(|exec| {
                copies_right::<u8>(exec, &layout, memory);
                copies_right::<u32>(exec, &layout, memory);
                copies_right::<u64>(exec, &layout, memory);
            });
        }
    }
}

#[test]
fn a_copy_large_enough_for_many_tasks_is_the_same_on_any_number_of_threads() {
    for (layout, memory) in layouts(&[3, 257, 211]) {
        everywhere(|exec| {
            copies_right::<u8>(exec, &layout, memory);
            copies_right::<u32>(exec, &layout, memory);
        });
    }
    for (layout, memory) in layouts(&[65_539, 3]) {
        everywhere(|exec| copies_right::<u64>(exec, &layout, memory));
    }
}

/// Row-major numbers of the elements of `dims`, as indices.
fn indices_of(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..dims.iter().product()).map(|mut n: usize| {
        let mut index = vec![0; dims.len()];
        for axis in (0..dims.len()).rev() {
            index[axis] = n % dims[axis];
            n /= dims[axis];
        }
        index
    })
}

fn offset(layout: &Layout, index: &[usize]) -> usize {
    let moved: isize = index.iter().zip(layout.strides()).map(|(i, s)| *i as isize * s).sum();
    (layout.offset() as isize + moved) as usize
}

#[test]
fn concat_puts_inputs_of_any_layout_side_by_side_along_any_axis() {
    for (dims, joined) in [
        (&[4][..], &[3, 0, 5][..]),
        (&[2, 3], &[1, 1]),
        (&[5, 40, 3], &[7, 1, 2]),
        (&[3, 0, 2], &[2, 2]),
        (&[70, 300], &[100, 30, 1]),
    ] {
        for axis in 0..dims.len() {
            let mut out = dims.to_vec();
            out[axis] = joined.iter().sum();
            // A different layout for each input.
            let inputs: Vec<(Layout, Vec<u32>)> = joined
                .iter()
                .enumerate()
                .map(|(k, &size)| {
                    let mut own = dims.to_vec();
                    own[axis] = size;
                    let made = layouts(&own);
                    let (layout, memory) = made[(k * 3) % made.len()];
                    (layout, numbers::<u32>(memory).iter().map(|x| x + 1000 * k as u32).collect())
                })
                .collect();
            let want: Vec<u32> = indices_of(&out)
                .map(|mut index| {
                    let mut k = 0;
                    while index[axis] >= joined[k] {
                        index[axis] -= joined[k];
                        k += 1;
                    }
                    inputs[k].1[offset(&inputs[k].0, &index)]
                })
                .collect();
            let sources: Vec<Source<'_>> = inputs.iter().map(|(layout, data)| source(data, layout)).collect();
            everywhere(|exec| {
                let mut got = vec![0u32; want.len()];
                // SAFETY: the layouts stay within their data, and the result has the joined shape.
                unsafe { concat(exec, 4, axis, &sources, &out, got.as_mut_ptr().cast()) };
                assert_eq!(got, want, "{dims:?} {joined:?} along {axis}");
            });
        }
    }
}

#[test]
fn pad_puts_the_value_around_a_tensor_of_any_layout() {
    for (dims, before, after) in [
        (&[][..], &[][..], &[][..]),
        (&[3], &[2], &[0]),
        (&[0], &[2], &[3]),
        (&[3, 4], &[0, 0], &[0, 0]),
        (&[3, 4], &[1, 2], &[2, 0]),
        (&[2, 3, 5], &[0, 1, 3], &[2, 1, 0]),
        (&[2, 0, 2], &[1, 1, 1], &[1, 0, 1]),
        (&[120, 200], &[40, 1], &[1, 90]),
    ] {
        let out: Vec<usize> = (0..dims.len()).map(|a| before[a] + dims[a] + after[a]).collect();
        for (layout, memory) in layouts(dims) {
            let data: Vec<u64> = numbers(memory);
            let want: Vec<u64> = indices_of(&out)
                .map(|index| {
                    let inside =
                        (0..dims.len()).all(|a| (before[a]..before[a] + dims[a]).contains(&index[a]));
                    let own: Vec<usize> = index.iter().zip(before).map(|(i, b)| i.wrapping_sub(*b)).collect();
                    if inside { data[offset(&layout, &own)] } else { 99 }
                })
                .collect();
            here_and_there(|exec| {
                let mut got = vec![0u64; want.len()];
                let from = source(&data, &layout);
                // SAFETY: the layout stays within its data, and the result has the padded shape.
                unsafe { pad(exec, 8, from, before, after, 99, got.as_mut_ptr().cast()) };
                assert_eq!(got, want, "{dims:?} {before:?} {after:?}");
            });
        }
    }
}

#[test]
fn tile_repeats_a_tensor_of_any_layout() {
    for (dims, repeats) in [
        (&[][..], &[][..]),
        (&[3], &[4]),
        (&[3], &[0]),
        (&[0, 2], &[2, 2]),
        (&[2, 3], &[3, 2]),
        (&[1, 7, 1], &[5, 1, 9]),
        (&[40, 30, 3], &[2, 3, 4]),
        (&[2, 1, 2, 1, 2, 1, 2, 3], &[2, 2, 1, 2, 2, 2, 2, 2]),
    ] {
        let out: Vec<usize> = (0..dims.len()).map(|a| dims[a] * repeats[a]).collect();
        for (layout, memory) in layouts(dims) {
            let data: Vec<u8> = numbers(memory);
            let want: Vec<u8> = indices_of(&out)
                .map(|index| {
                    let own: Vec<usize> = index.iter().zip(dims).map(|(i, d)| i % d).collect();
                    data[offset(&layout, &own)]
                })
                .collect();
            here_and_there(|exec| {
                let mut got = vec![0u8; want.len()];
                // SAFETY: the layout stays within its data, and the result has the repeated shape.
                unsafe { tile(exec, 1, source(&data, &layout), repeats, got.as_mut_ptr()) };
                assert_eq!(got, want, "{dims:?} {repeats:?}");
            });
        }
    }
}

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
