//! Every mover against a plain loop over indices: every layout, element size, level and several thread
//! counts.

mod generate;
mod indices;

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
