#!/usr/bin/env bash
# The placer's figures: the public inference graphs beside the checkout (where they are), then the generated ones.
# Usage: scripts/place_figures.sh [seconds per graph]
set -euo pipefail
cd "$(dirname "$0")/.."
cargo="${CARGO:-cargo}"
seconds="${1:-5}"
shared=../shared
$cargo build --quiet --release -p situ-place --examples
folder="$($cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release/examples"

if [ -d "$shared/workloads/msr-latency" ]; then
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    for graph in "$shared"/workloads/msr-latency/*/*.json; do
        name="$(basename "$(dirname "$graph")")-$(basename "$graph")"
        python3 "$shared/tools/msr_to_situ.py" "$graph" > "$work/$name"
        for budget in 0.1 "$seconds"; do
            "$folder/place_table" --seconds "$budget" --algorithm auto --out "$work/answer.json" "$work/$name"
        done
        python3 "$shared/tools/check_placement.py" "$work/$name" "$work/answer.json"
    done
else
    echo "skipped: no $shared/workloads/msr-latency"
fi
"$folder/place_figures" --seconds "$seconds"
