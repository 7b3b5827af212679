#!/usr/bin/env bash
# Makes sure that what shows our files is there: Chromium for the report page, TensorBoard for its event files.
#
# Fails where one can not be had: `make test-all` is to say so, not to pass over it.
set -euo pipefail
cd "$(dirname "$0")/.."

has_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

if ! has_chromium >/dev/null; then
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        echo "viewers: installing chromium"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
    fi
    has_chromium >/dev/null || {
        echo "viewers: no Chromium: install it (Debian, Ubuntu: sudo apt-get install chromium)" >&2
        exit 1
    }
fi

if ! [ -x .venv-tensorboard/bin/tensorboard ]; then
    echo "viewers: installing TensorBoard into .venv-tensorboard"
    "${PYTHON:-python3}" -m venv .venv-tensorboard
    # It imports pkg_resources, which newer setuptools have not.
    .venv-tensorboard/bin/python -m pip install --quiet --disable-pip-version-check tensorboard==2.21.0 'setuptools<81'
fi
