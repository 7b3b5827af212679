//! See `situ_fuzz::TARGETS`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let target = situ_fuzz::target("npy").expect("a target of that name");
    let _ = (target.run)(data);
});
