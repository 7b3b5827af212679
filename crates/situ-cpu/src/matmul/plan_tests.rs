use super::*;

fn inputs(m: usize, k: usize, n: usize) -> Inputs {
    Inputs {
        m,
        k,
        n,
        batch: 1,
        a: MatrixOrder::RowMajor,
        b: MatrixOrder::RowMajor,
        a_row_stride: k as isize,
        a_col_stride: 1,
        b_row_stride: n as isize,
        b_packed: false,
        element_bytes: 4,
        masked: false,
        second_level: 1 << 20,
        rows: 6,
        cols: 16,
        group: 1,
    }
}

#[test]
fn blocks_of_k_are_equal_within_a_few_steps_and_never_too_long() {
    for k in 0..5000 {
        let block = k_block(k);
        assert!((1..=K_BLOCK_LIMIT).contains(&block), "{k}");
        let blocks = k.div_ceil(block);
        assert_eq!(blocks, k.div_ceil(K_BLOCK_LIMIT), "{k}");
    }
}

#[test]
fn blocks_of_groups_end_where_those_of_single_steps_do() {
    for k in 1..5000 {
        let groups = usize::div_ceil(k, 2);
        let (single, grouped) = (k_block(k), grouped_k_block(groups, 2));
        assert_eq!(groups.div_ceil(grouped), k.div_ceil(single), "{k}");
        assert!(single == k || single == 2 * grouped, "{k}");
    }
}

#[test]
fn strips_cover_the_rows_and_none_is_too_high() {
    for most in [4, 6, 14] {
        for rows in 1..200 {
            let strips = Strips::new(rows, most);
            let heights: Vec<usize> = (0..strips.count).map(|i| strips.height(i)).collect();
            assert_eq!(heights.iter().sum::<usize>(), rows, "{rows} by {most}: {heights:?}");
            assert!(heights.iter().all(|h| (1..=most).contains(h)), "{rows} by {most}: {heights:?}");
            assert_eq!(strips.count, rows.div_ceil(most));
            assert!(rows < 2 * most || heights[0] == most);
        }
    }
}

#[test]
fn a_skinny_product_reads_a_in_place_and_packs_b_on_the_way() {
    let plan = GemmPlan::new(&inputs(32, 2048, 365));
    assert_eq!((plan.a, plan.b, plan.tile_rows), (Packing::Direct, Packing::InTask, 32));
    assert!(365usize.div_ceil(plan.tile_cols) >= 6, "tasks for several threads: {plan:?}");
}

#[test]
fn a_large_product_packs_b_once_and_has_many_tiles() {
    let plan = GemmPlan::new(&inputs(2048, 2048, 2048));
    assert_eq!((plan.a, plan.b), (Packing::Direct, Packing::Shared));
    assert!(2048usize.div_ceil(plan.tile_rows) * 2048usize.div_ceil(plan.tile_cols) >= 64);
    assert!(plan.tile_rows.is_multiple_of(6) && plan.tile_cols.is_multiple_of(16));
}

#[test]
fn a_small_product_is_one_task() {
    let plan = GemmPlan::new(&inputs(64, 64, 64));
    assert!(plan.tile_rows >= 64 && plan.tile_cols >= 64, "{plan:?}");
}

#[test]
fn chunks_of_shared_panels_are_bounded() {
    for (m, k, n) in [(100_000, 4096, 50_000), (5000, 100_000, 400), (400, 64, 1_000_000)] {
        for a in [MatrixOrder::RowMajor, MatrixOrder::ColumnMajor, MatrixOrder::Strided] {
            let plan = GemmPlan::new(&Inputs { a, a_col_stride: m as isize, ..inputs(m, k, n) });
            let bytes = |lines: usize| lines * plan.chunk_blocks * plan.k_block * 4;
            if plan.a == Packing::Shared {
                assert!(bytes(plan.chunk_rows) <= SHARED_BYTES, "{plan:?}");
            }
            if plan.b == Packing::Shared {
                assert!(bytes(plan.chunk_cols) <= SHARED_BYTES, "{plan:?}");
            }
        }
    }
}

/// The inputs of kernels that read B under masks.
fn masked(m: usize, k: usize, n: usize) -> Inputs {
    Inputs { masked: true, rows: 14, cols: 32, ..inputs(m, k, n) }
}

#[test]
fn kernels_with_masks_read_b_in_place_for_few_rows_and_ask_for_it_ahead_where_it_is_far() {
    let plan = GemmPlan::new(&masked(32, 2048, 365));
    assert_eq!((plan.a, plan.b, plan.tile_rows), (Packing::Direct, Packing::Direct, 32));
    assert!(plan.rows_ahead > 0, "{plan:?}");
    assert_eq!(GemmPlan::new(&masked(32, 64, 64)).rows_ahead, 0);
    // Rows of B that push each other out of the cache are packed where they are read more than once or twice.
    assert_eq!(GemmPlan::new(&masked(32, 2048, 4096)).b, Packing::Shared);
    assert_eq!(GemmPlan::new(&masked(14, 2048, 4096)).b, Packing::Direct);
}

#[test]
fn blocks_of_b_fit_the_second_level_cache_whatever_its_size() {
    for second_level in [256 << 10, 512 << 10, 1 << 20, 2 << 20, 64 << 20] {
        for (m, k, n) in [(300, 300, 300), (2000, 2000, 2000), (100_000, 5000, 50_000), (5000, 100_000, 400)]
        {
            let plan = GemmPlan::new(&Inputs { second_level, ..masked(m, k, n) });
            if !plan.strips_first {
                assert!(m * plan.k_block * 4 <= second_level / 2, "{plan:?}");
                continue;
            }
            assert!(
                plan.tile_cols == 32 || plan.tile_cols * plan.k_block * 4 <= second_level / 4,
                "{plan:?}"
            );
            assert!(plan.tile_rows.is_multiple_of(14) && plan.tile_cols.is_multiple_of(32));
            assert_eq!((plan.a, plan.b), (Packing::Direct, Packing::Shared), "{plan:?}");
        }
    }
}

#[test]
fn rows_of_a_that_push_each_other_out_of_the_cache_are_packed() {
    assert_eq!(GemmPlan::new(&masked(2048, 2048, 2048)).a, Packing::Shared);
    assert_eq!(GemmPlan::new(&masked(2000, 2000, 2000)).a, Packing::Direct);
}

#[test]
fn a_large_product_of_kernels_with_masks_has_tasks_for_several_threads() {
    for size in [700, 1024, 2048, 4096] {
        let plan = GemmPlan::new(&masked(size, size, size));
        let tasks = size.div_ceil(plan.tile_rows) * size.div_ceil(plan.tile_cols);
        assert!(tasks >= 8, "{size}: {plan:?}");
    }
}

#[test]
fn a_tall_product_with_little_on_the_right_is_cut_into_halves_of_rows() {
    // The gradient of a layer's weights: the input's transpose times the gradient of the output.
    let transposed = |m: usize, k: usize, n: usize| Inputs {
        a: MatrixOrder::ColumnMajor,
        a_row_stride: 1,
        a_col_stride: m as isize,
        ..masked(m, k, n)
    };
    for (m, k, n) in [(784, 32, 128), (1024, 64, 100), (1600, 16, 128)] {
        let plan = GemmPlan::new(&transposed(m, k, n));
        assert_eq!((plan.a, plan.b), (Packing::Direct, Packing::Direct), "{plan:?}");
        assert!(plan.tile_cols >= n, "{plan:?}");
        let tasks = m.div_ceil(plan.tile_rows);
        assert!(tasks >= 2 && tasks % 2 == 0, "{plan:?}");
        assert!((tasks / 2 * plan.tile_rows).abs_diff(m / 2) <= m / 16, "{plan:?}");
    }
}
