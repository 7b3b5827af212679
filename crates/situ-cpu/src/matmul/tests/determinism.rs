//! The same bits for any number of threads, and no instruction above the level asked for.

use super::cases::{Case, LAYS, Lay, numbers};
use crate::level::Level;
use crate::threads::Threads;

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let pools: Vec<Threads> = [1, 2, 3, 5].map(|count| Threads::new(count, None).unwrap()).into();
    let mut next = numbers(77);
    let mut size = |most: f64| 1 + ((next() + 1.0) / 2.0 * most) as usize;
    let mut shapes: Vec<(usize, usize, usize)> =
        (0..40).map(|_| (size(150.0), size(900.0), size(300.0))).collect();
    shapes.extend([
        (1, 3000, 2100),
        (2100, 3000, 1),
        (1, 700, 1),
        (32, 784, 128),
        (300, 1100, 1030),
        (1200, 80, 70),
    ]);
    for (i, sizes) in shapes.into_iter().enumerate() {
        let lays = if i % 2 == 0 { (Lay::Dense, Lay::Dense) } else { (LAYS[i % 6], LAYS[i / 6 % 6]) };
        let mut values = numbers(i as u64 + 1);
        let case = Case::new(sizes, lays, move || values() as f32);
        for level in Level::available() {
            let one = case.run(level, &pools[0], f32::NAN);
            for threads in &pools[1..] {
                let many = case.run(level, threads, f32::NAN);
                let same = one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{sizes:?} {lays:?} at {level}: {} threads differ from one", threads.count());
            }
        }
    }
}

#[test]
fn blocks_of_k_on_threads_of_their_own_give_the_bits_of_one_thread() {
    let pools: Vec<Threads> = [1, 2, 3, 5].map(|count| Threads::new(count, None).unwrap()).into();
    // Two blocks and more, whole registers and rests, one strip of rows and several.
    for (i, sizes) in [(32, 784, 128), (2, 1025, 365), (48, 1500, 33), (7, 3000, 260), (33, 513, 97)]
        .into_iter()
        .enumerate()
    {
        for (lay, finished) in
            [(Lay::Dense, false), (Lay::Dense, true), (Lay::Backwards, true), (Lay::OneRow, false)]
        {
            let mut values = numbers(i as u64 + 90);
            let mut case = Case::new(sizes, (LAYS[i], lay), &mut values);
            if finished {
                case.bias = Some((0..sizes.2).map(|_| values()).collect());
                case.activation = crate::matmul::Activation::Relu;
            }
            let mut values = numbers(i as u64 + 50);
            let mut single = Case::new(sizes, (LAYS[i], lay), || values() as f32);
            single.bias = case.bias.as_ref().map(|bias| bias.iter().map(|x| *x as f32).collect());
            single.activation = case.activation;
            for level in Level::available() {
                let one = (case.run(level, &pools[0], f64::NAN), single.run(level, &pools[0], f32::NAN));
                for threads in &pools[1..] {
                    let many = (case.run(level, threads, f64::NAN), single.run(level, threads, f32::NAN));
                    let same = one.0.iter().zip(&many.0).all(|(a, b)| a.to_bits() == b.to_bits())
                        && one.1.iter().zip(&many.1).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(
                        same,
                        "{sizes:?} {lay:?} at {level}: {} threads differ from one",
                        threads.count()
                    );
                }
            }
        }
    }
}

#[test]
fn an_element_does_not_depend_on_the_rows_and_columns_around_it() {
    // The first rows and columns of a product are the product of the first rows and columns, whatever tiles
    // that makes.
    let threads = Threads::new(2, None).unwrap();
    let (m, k, n) = (61, 1300, 90);
    let mut values = numbers(4);
    let whole = Case::new((m, k, n), (Lay::Dense, Lay::Dense), move || values() as f32);
    for level in Level::available() {
        let all = whole.run(level, &threads, f32::NAN);
        for (rows, cols) in [(2, 2), (3, 17), (6, 16), (13, 33), (31, 64), (60, 89)] {
            let mut part = vec![f32::NAN; rows * cols];
            let product = crate::matmul::Product {
                m: rows,
                n: cols,
                ..crate::matmul::Product::new(m, k, n, whole.a.matrix(), whole.b.matrix(), part.as_mut_ptr())
            };
            // SAFETY: the operands are larger than the product asks for, and the output is as large.
            unsafe { crate::matmul::matmul(level, &threads, &product) };
            for i in 0..rows {
                let same = part[i * cols..(i + 1) * cols] == all[i * n..i * n + cols];
                assert!(same, "row {i} of {rows}x{cols} at {level}");
            }
        }
    }
}

#[test]
fn a_level_the_processor_lacks_falls_to_the_best_it_has() {
    let threads = Threads::new(1, None).unwrap();
    let mut values = numbers(8);
    let case = Case::new((20, 30, 40), (Lay::Dense, Lay::Dense), move || values() as f32);
    assert!(case.run(Level::Avx512, &threads, 0.0) == case.run(Level::detect(), &threads, 0.0));
}
