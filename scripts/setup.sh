#!/usr/bin/env bash
# Makes sure that a Vulkan driver exists, so that the GPU tests have a device to run on.
#
# Never fails: without a driver everything but the GPU tests still runs, and those say
# "skipped: no GPU adapter".
set -euo pipefail

packages="mesa-vulkan-drivers libvulkan1"

# A driver chosen by hand replaces the search, as it does in the Vulkan loader.
chosen="${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}"

# Metal and DX12 come with the system.
[ "$(uname -s)" = Linux ] || exit 0

has_driver() {
    local file folder
    if [ -n "$chosen" ]; then
        local IFS=:
        for file in $chosen; do [ -e "$file" ] && return 0; done
        return 1
    fi
    for folder in /usr/share/vulkan /usr/local/share/vulkan /etc/vulkan \
        "${XDG_DATA_HOME:-$HOME/.local/share}/vulkan"; do
        for file in "$folder"/icd.d/*.json; do [ -e "$file" ] && return 0; done
    done
    return 1
}

has_loader() {
    # ldconfig is often outside an ordinary user's PATH.
    PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | grep 'libvulkan\.so\.1' >/dev/null
}

if has_driver && has_loader; then
    exit 0
fi

# Where a driver chosen by hand is not there, installing another would change nothing.
if [ -z "$chosen" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "setup: no Vulkan driver found, installing: $packages"
    # shellcheck disable=SC2086 # a list of words on purpose
    if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends $packages >/dev/null && has_driver && has_loader; then
        echo "setup: Vulkan driver installed"
        exit 0
    fi
    echo "setup: the installation did not give a Vulkan driver"
fi

[ -z "$chosen" ] || echo "setup: VK_DRIVER_FILES or VK_ICD_FILENAMES names no file that exists: $chosen"
echo "setup: no Vulkan driver: GPU tests will say \"skipped: no GPU adapter\""
echo "setup: to run them, install your GPU's Vulkan driver or Mesa's software driver"
echo "setup:   Debian, Ubuntu:  sudo apt-get install $packages"
echo "setup:   Fedora:          sudo dnf install mesa-vulkan-drivers vulkan-loader"
echo "setup:   Arch:            sudo pacman -S vulkan-swrast vulkan-icd-loader"
