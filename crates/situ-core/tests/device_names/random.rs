//! Texts nobody would write.

use situ_core::device_spec::{DeviceSpec, SpecError};

/// SplitMix64: random texts need no more.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

#[test]
fn random_texts_never_panic_and_every_suggestion_is_itself_a_name() {
    #[rustfmt::skip]
    const PIECES: &[&str] = &[
        "/", "/", "/", ":", ":", ":", "*", "job", "replica", "task", "device", "cpu", "GPU", "gpu", "Tpu",
        "foo", "_", "-", "+", "0", "1", "9", "4294967295", "4294967296", " ", "\t", "\0", "é", "漢", "=",
        ",", "\\", "jbo", "devise", "ſ", "K",
    ];
    let mut random = Random(1);
    let (mut names, mut suggestions) = (0, 0);
    for _ in 0..50_000 {
        let text: String = (0..random.below(10)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        match text.parse::<DeviceSpec>() {
            Ok(spec) => {
                names += 1;
                assert_eq!(spec.to_string().parse(), Ok(spec), "{text:?}");
            }
            Err(error) => {
                assert!(error.to_string().contains("device name"), "{text:?}: {error}");
                let SpecError::Malformed { suggestion, .. } = error else { panic!("{text:?}: {error}") };
                if let Some(name) = suggestion {
                    suggestions += 1;
                    assert!(name.parse::<DeviceSpec>().is_ok(), "{text:?} -> {name:?}");
                }
            }
        }
    }
    assert!(names > 1000 && suggestions > 1000, "too few of either to show anything: {names}, {suggestions}");
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = Random(2);
    for _ in 0..20_000 {
        let bytes: Vec<u8> = (0..random.below(24)).map(|_| random.below(256) as u8).collect();
        if let Err(error) = String::from_utf8_lossy(&bytes).parse::<DeviceSpec>() {
            assert!(!error.to_string().is_empty());
        }
    }
}
