#!/usr/bin/env bash
# Runs every target of fuzz/ for a while, from the seeds that its parser accepts.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
seconds="${FUZZ_SECONDS:-60}"

$cargo fuzz --version >/dev/null 2>&1 || $cargo install --locked cargo-fuzz
# The coverage that guides a fuzzer is switched on by a flag that the stable compiler takes only so.
export RUSTC_BOOTSTRAP=1
$cargo run --quiet -p situ-fuzz --example seeds -- fuzz/corpus
for file in fuzz/fuzz_targets/*.rs; do
    name="$(basename "$file" .rs)"
    [ -z "${FUZZ_TARGETS:-}" ] || [[ " $FUZZ_TARGETS " == *" $name "* ]] || continue
    echo "fuzz: $name"
    $cargo fuzz run --sanitizer none "$name" -- -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -max_len=65536
done
