#!/usr/bin/env bash
# Makes .venv with the systems that `make bench` compares with, at the versions of bench/requirements.txt.
#
# torch on PyPI is the CUDA build and does not load without its CUDA libraries: expect about 8 GB.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=bench/requirements.txt
installed=.venv/requirements.installed

if cmp -s "$wanted" "$installed"; then
    exit 0
fi

python="${PYTHON:-python3}"
command -v "$python" >/dev/null || {
    echo "peers: no $python found: install Python 3.11 or newer with its venv module" >&2
    exit 1
}
[ -x .venv/bin/python ] || "$python" -m venv .venv
echo "peers: installing $(grep -c '==' "$wanted") packages into .venv (a few GB, once)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$wanted"
.venv/bin/python - <<'PY'
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import jax, onnx, onnxruntime, tensorflow, torch

for module in (torch, tensorflow, onnxruntime, jax, onnx):
    print(f"peers: {module.__name__} {module.__version__}")
PY
cp "$wanted" "$installed"
