#!/usr/bin/env bash
# Runs the unit tests of the crates with unsafe code under AddressSanitizer and ThreadSanitizer.
#
# Sanitizers are switched on by a flag that the stable compiler takes only with RUSTC_BOOTSTRAP. The
# standard library is not built with them, so that ThreadSanitizer does not see a lock that is waited for (the
# rest of a lock is compiled into our crates): two tests at once that use one device would be races to it. So
# it runs them one by one, and sees the threads that a test starts itself. scripts/tsan.supp has what is left.
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
    tests=""
    # The standard library that comes with the compiler was built without it.
    if [ "$kind" = thread ]; then
        flags="$flags -Cunsafe-allow-abi-mismatch=sanitizer"
        tests="--test-threads=1"
    fi
    # shellcheck disable=SC2086 # lists of words on purpose
    RUSTFLAGS="$flags" $cargo test --lib $crates --target "$target" --target-dir "target/sanitize-$kind" -- $tests
done
