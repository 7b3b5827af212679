//! No loop of a tile keeps registers on the stack: read off the machine code of this very program, so no
//! processor needs to have the instructions.
//!
//! A tile is fast because its sums stay in registers while k runs. Where the compiler runs out of them it
//! says nothing, and the product takes twice as long. Tiles of AVX-512 have their loop in assembly and are
//! looked at in every build; those of AVX2 are in part compiled, and are looked at where they are optimised:
//! `scripts/test.sh` runs these tests in release, too.

use crate::matmul::vector::{Kernels, TileFn};
use crate::matmul::{avx2, avx512, bf16_x86, bytes_x86};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};

/// The longest instruction there is.
const LONGEST: usize = 15;

/// What the loops of a function do.
#[derive(Debug, Default, PartialEq)]
struct Loops {
    /// Those with a fused multiply-add.
    multiply: usize,
    /// Instructions in them by which a vector register meets the stack.
    spills: Vec<String>,
}

/// Instructions by their address, each with where it may go on.
type Code = BTreeMap<u64, (Instruction, Vec<u64>)>;

/// The instructions of the function at `entry` that can be reached without a call.
fn code_at(entry: u64, bytes_at: &dyn Fn(u64) -> Vec<u8>) -> Code {
    let mut found = Code::new();
    let mut open = vec![entry];
    while let Some(at) = open.pop() {
        if found.contains_key(&at) {
            continue;
        }
        let bytes = bytes_at(at);
        let instruction = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE).decode();
        assert!(!instruction.is_invalid(), "no instruction at {at:#x}");
        let next = match instruction.flow_control() {
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => vec![instruction.next_ip()],
            FlowControl::ConditionalBranch => vec![instruction.next_ip(), instruction.near_branch_target()],
            FlowControl::UnconditionalBranch => vec![instruction.near_branch_target()],
            FlowControl::Return
            | FlowControl::IndirectBranch
            | FlowControl::Interrupt
            | FlowControl::XbeginXabortXend
            | FlowControl::Exception => vec![],
        };
        open.extend(&next);
        found.insert(at, (instruction, next));
    }
    found
}

/// What can be reached from an address by at least one step.
fn reach(from: u64, next: &BTreeMap<u64, Vec<u64>>) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let mut open = next.get(&from).cloned().unwrap_or_default();
    while let Some(at) = open.pop() {
        if found.insert(at) {
            open.extend(next.get(&at).into_iter().flatten());
        }
    }
    found
}

/// The loops of the function at `entry`. A loop is what a multiply-add can reach and be reached from, loops
/// around it included: how blocks are laid out does not matter.
fn loops(entry: u64, bytes_at: &dyn Fn(u64) -> Vec<u8>) -> Loops {
    let code = code_at(entry, bytes_at);
    let mut after: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut before: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (at, (_, next)) in &code {
        after.insert(*at, next.clone());
        for next in next {
            before.entry(*next).or_default().push(*at);
        }
    }
    // Without a frame, the compiler may use the frame pointer for any address.
    let framed =
        code.values().any(|(i, _)| i.op_register(0) == Register::RBP && i.op_register(1) == Register::RSP);
    let mut found = Loops::default();
    let mut seen = BTreeSet::new();
    for (at, _) in code.iter().filter(|(_, (instruction, _))| multiplies_and_adds(instruction)) {
        let body: BTreeSet<u64> = reach(*at, &after).intersection(&reach(*at, &before)).copied().collect();
        if !body.contains(at) || seen.contains(at) {
            continue;
        }
        found.multiply += 1;
        let spills = body.iter().map(|at| code[at].0).filter(|i| meets_the_stack(i, framed));
        found.spills.extend(spills.map(|i| format!("{:?} at {:#x}", i.code(), i.ip())));
        seen.extend(body);
    }
    found
}

fn multiplies_and_adds(instruction: &Instruction) -> bool {
    let name = format!("{:?}", instruction.mnemonic());
    ["Vfmadd", "Vpdpbusd", "Vdpbf16ps", "Vpmaddwd"].iter().any(|begin| name.starts_with(begin))
}

/// Whether a vector register goes to or comes from an address off the stack pointer, or the pointer to a
/// frame.
fn meets_the_stack(instruction: &Instruction, framed: bool) -> bool {
    let operands = || 0..instruction.op_count();
    let base = instruction.memory_base();
    (base == Register::RSP || (framed && base == Register::RBP))
        && operands().any(|i| instruction.op_kind(i) == OpKind::Memory)
        && operands().any(|i| {
            instruction.op_kind(i) == OpKind::Register && instruction.op_register(i).is_vector_register()
        })
}

/// The code of this program.
fn own_code(at: u64) -> Vec<u8> {
    // SAFETY: `at` is in a function of this program, whose code can be read, and which is not the last of its
    // segment: what is read beyond its end is code too.
    unsafe { std::slice::from_raw_parts(at as *const u8, LONGEST).to_vec() }
}

/// Every tile of a level with what it is.
fn tiles<T>(kernels: &Kernels<T>) -> Vec<(String, TileFn<T>)> {
    let mut all = Vec::new();
    for (height, ways) in kernels.tiles.iter().enumerate() {
        for (way, widths) in ways.iter().enumerate() {
            for (width, tile) in widths.iter().enumerate() {
                all.push((format!("{} rows, {} registers, way {way}", height + 1, width + 1), *tile));
            }
        }
    }
    for (way, tile) in kernels.packing_tiles.iter().enumerate() {
        all.push((format!("packing, way {way}"), *tile));
    }
    all
}

/// Looks at every tile of a level; each must have as many loops as `expected` says.
fn check<T>(level: &str, kernels: &Kernels<T>, expected: impl Fn(usize) -> bool) {
    let tiles = tiles(kernels);
    assert_eq!(tiles.len(), 4 * kernels.rows + 2);
    for (what, tile) in tiles {
        let found = loops(tile as usize as u64, &own_code);
        assert!(expected(found.multiply), "{level}, {what}: {} loops that multiply and add", found.multiply);
        assert!(found.spills.is_empty(), "{level}, {what} spills in its loop: {:?}", found.spills);
    }
}

#[test]
fn tiles_of_avx512_spill_no_registers_in_their_loops() {
    // One loop of four steps, one of single ones.
    check("avx512 f32", &avx512::F32, |loops| loops == 2);
    check("avx512 f64", &avx512::F64, |loops| loops == 2);
    check("avx512 bf16", &bf16_x86::PAIRS, |loops| loops == 2);
    check("avx512 bytes", &bytes_x86::QUADS_AVX512, |loops| loops == 2);
}

#[test]
fn tiles_of_avx2_spill_no_registers_in_their_loops() {
    if cfg!(debug_assertions) {
        eprintln!("skipped: compiled loops are looked at in optimised builds");
        return;
    }
    check("avx2 f32", &avx2::F32, |loops| loops >= 1);
    check("avx2 f64", &avx2::F64, |loops| loops >= 1);
    check("avx_vnni bytes", &bytes_x86::QUADS_AVX2, |loops| loops >= 1);
    check("avx2 bytes", &bytes_x86::PAIRS_AVX2, |loops| loops >= 1);
}

/// The loops of code that starts at 0.
fn loops_of(code: &[u8]) -> Loops {
    loops(0, &|at| code[at as usize..].iter().copied().take(LONGEST).collect())
}

#[test]
fn a_loop_that_stores_a_register_to_the_stack_is_found() {
    #[rustfmt::skip]
    let code = [
        0x62, 0xf2, 0x7d, 0x48, 0x18, 0x00,             // 0: vbroadcastss zmm0, [rax]
        0x62, 0xf1, 0x7c, 0x48, 0x29, 0x44, 0x24, 0x01, // 6: vmovaps [rsp + 64], zmm0
        0x62, 0xf2, 0x75, 0x48, 0xb8, 0xd0,             // 14: vfmadd231ps zmm2, zmm1, zmm0
        0x48, 0xff, 0xc9,                               // 20: dec rcx
        0x75, 0xe7,                                     // 23: jnz 0
        0xc3,                                           // 25: ret
    ];
    let found = loops_of(&code);
    assert_eq!((found.multiply, found.spills.len()), (1, 1), "{found:?}");
}

#[test]
fn a_loop_that_takes_an_operand_from_the_frame_is_found() {
    #[rustfmt::skip]
    let code = [
        0x48, 0x89, 0xe5,                   // 0: mov rbp, rsp
        0xc4, 0xe2, 0x75, 0xb8, 0x45, 0xe0, // 3: vfmadd231ps ymm0, ymm1, [rbp - 32]
        0x48, 0xff, 0xc9,                   // 9: dec rcx
        0x75, 0xf5,                         // 12: jnz 3
        0xc3,                               // 14: ret
    ];
    let found = loops_of(&code);
    assert_eq!((found.multiply, found.spills.len()), (1, 1), "{found:?}");
    // Without a frame, it is an address like any other.
    assert_eq!(loops_of(&code[3..]), Loops { multiply: 1, spills: vec![] });
}

#[test]
fn stores_outside_of_the_loop_and_to_other_memory_are_none_of_its_business() {
    #[rustfmt::skip]
    let code = [
        0xc5, 0xfc, 0x29, 0x4c, 0x24, 0x20, // 0: vmovaps [rsp + 32], ymm1
        0xc4, 0xe2, 0x75, 0xb8, 0x00,       // 6: vfmadd231ps ymm0, ymm1, [rax]
        0xc5, 0xfc, 0x11, 0x07,             // 11: vmovups [rdi], ymm0
        0x48, 0x89, 0x04, 0x24,             // 15: mov [rsp], rax
        0x48, 0xff, 0xc9,                   // 19: dec rcx
        0x75, 0xee,                         // 22: jnz 6
        0xc5, 0xfc, 0x29, 0x04, 0x24,       // 24: vmovaps [rsp], ymm0
        0xc3,                               // 29: ret
    ];
    assert_eq!(loops_of(&code), Loops { multiply: 1, spills: vec![] });
}

#[test]
fn a_loop_without_products_is_none_and_a_jump_is_followed() {
    #[rustfmt::skip]
    let code = [
        0xeb, 0x01,                   // 0: jmp 3
        0x06,                         // 2: no instruction
        0xc5, 0xfc, 0x29, 0x04, 0x24, // 3: vmovaps [rsp], ymm0
        0x48, 0xff, 0xc9,             // 8: dec rcx
        0x75, 0xf6,                   // 11: jnz 3
        0xc3,                         // 13: ret
    ];
    assert_eq!(loops_of(&code), Loops::default());
}
