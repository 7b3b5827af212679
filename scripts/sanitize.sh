#!/usr/bin/env bash
# Runs the unit tests of the crates with unsafe code under AddressSanitizer and ThreadSanitizer.
#
# Sanitizers are switched on by a flag that the stable compiler takes only with RUSTC_BOOTSTRAP. The
# standard library is not built with them, so that ThreadSanitizer does not see its locks: what it says
# about those is left out by scripts/tsan.supp.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
target="$(rustc -vV | sed -n 's/^host: //p')"
crates="${SANITIZE_CRATES:--p situ-cpu -p situ-runtime -p situ-gpu}"
kinds="${SANITIZERS:-address thread}"

export RUSTC_BOOTSTRAP=1
# Leaks of the GPU driver and of what lives as long as the process are none of ours.
export ASAN_OPTIONS="detect_leaks=0"
export TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp halt_on_error=0"
for kind in $kinds; do
    echo "sanitize: $kind"
    flags="-Zsanitizer=$kind"
    # The standard library that comes with the compiler was built without it.
    [ "$kind" = thread ] && flags="$flags -Cunsafe-allow-abi-mismatch=sanitizer"
    # shellcheck disable=SC2086 # lists of words on purpose
    RUSTFLAGS="$flags" $cargo test --lib $crates --target "$target" --target-dir "target/sanitize-$kind"
done
