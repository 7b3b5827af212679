use super::*;

fn inputs(m: usize, k: usize, n: usize) -> Inputs {
    Inputs {
        m,
        k,
        n,
        batch: 1,
        a: Lie::ByRows,
        b: Lie::ByRows,
        a_col_stride: 1,
        b_row_stride: n as isize,
        b_packed: false,
        element_bytes: 4,
        rows: 6,
        cols: 16,
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
fn strips_cover_the_rows_and_none_is_too_high() {
    for most in [4, 6, 12] {
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
    let plan = Plan::new(&inputs(32, 2048, 365));
    assert_eq!((plan.a, plan.b, plan.tile_rows), (Packing::Direct, Packing::InTask, 32));
    assert!(365usize.div_ceil(plan.tile_cols) >= 6, "tasks for several threads: {plan:?}");
}

#[test]
fn a_large_product_packs_b_once_and_has_many_tiles() {
    let plan = Plan::new(&inputs(2048, 2048, 2048));
    assert_eq!((plan.a, plan.b), (Packing::Direct, Packing::Shared));
    assert!(2048usize.div_ceil(plan.tile_rows) * 2048usize.div_ceil(plan.tile_cols) >= 64);
    assert!(plan.tile_rows.is_multiple_of(6) && plan.tile_cols.is_multiple_of(16));
}

#[test]
fn a_small_product_is_one_task() {
    let plan = Plan::new(&inputs(64, 64, 64));
    assert!(plan.tile_rows >= 64 && plan.tile_cols >= 64, "{plan:?}");
}

#[test]
fn chunks_of_shared_panels_are_bounded() {
    for (m, k, n) in [(100_000, 4096, 50_000), (5000, 100_000, 400), (400, 64, 1_000_000)] {
        for a in [Lie::ByRows, Lie::ByColumns, Lie::Apart] {
            let plan = Plan::new(&Inputs { a, a_col_stride: m as isize, ..inputs(m, k, n) });
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
