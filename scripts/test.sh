#!/usr/bin/env bash
# Runs every test of the workspace: with cargo-nextest where it is installed, else with cargo test.
set -euo pipefail
cargo="${CARGO:-cargo}"

# Tests go by built-in costs, whatever this machine was calibrated to.
SITU_CACHE="$(mktemp -d)"
export SITU_CACHE
trap 'rm -rf "$SITU_CACHE"' EXIT

if $cargo nextest --version >/dev/null 2>&1; then
    # nextest runs no doc tests; they go first, so that its summary closes the run.
    $cargo test --quiet --doc --workspace
    $cargo nextest run --workspace --no-tests=pass --status-level=slow --final-status-level=fail
else
    $cargo test --workspace
fi
