#!/usr/bin/env bash
# Makes sure that what shows our files is there: Chromium for the report page, TensorBoard
# and its profiler for event files.
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

# The profiler is a plugin of its own, and brings what reads our XPlane files.
if ! .venv-tensorboard/bin/python -c 'import tensorboard, tensorboard_plugin_profile' 2>/dev/null; then
    echo "viewers: installing TensorBoard and its profiler into .venv-tensorboard"
    "${PYTHON:-python3}" -m venv .venv-tensorboard
    # It imports pkg_resources, which newer setuptools have not.
    .venv-tensorboard/bin/python -m pip install --quiet --disable-pip-version-check \
        tensorboard==2.21.0 tensorboard-plugin-profile==2.24.2 'setuptools<81'
fi
