#!/usr/bin/env bash
# Runs every test of the workspace, with cargo-nextest where it is installed, else with cargo test;
# and those of what programs use in release too, which is how programs are run.
set -euo pipefail
cargo="${CARGO:-cargo}"

# Tests go by built-in costs, whatever this machine was calibrated to.
SITU_CACHE="$(mktemp -d)"
export SITU_CACHE
trap 'rm -rf "$SITU_CACHE"' EXIT

released="-p situ -p situ-cpu -p situ-tensor -p situ-nn -p situ-data -p situ-observe"

if $cargo nextest --version >/dev/null 2>&1; then
    # nextest runs no doc tests; they go first, so that its summary closes the run.
    $cargo test --quiet --doc --workspace
    # shellcheck disable=SC2086 # a list of words on purpose
    $cargo nextest run --release $released --status-level=slow --final-status-level=fail
    $cargo nextest run --workspace --no-tests=pass --status-level=slow --final-status-level=fail
else
    # shellcheck disable=SC2086
    $cargo test --release $released
    $cargo test --workspace
fi
