# The commands people need; `make` alone lists them.

CARGO ?= cargo
# Options for the benchmark, e.g. `make bench BENCH='--cases matmul --rounds 5'`.
BENCH ?=

.PHONY: help demo test test-cpu-alone test-all soak fuzz sanitize bench place-figures mnist losses lint doc package setup

help:
	@echo "make demo    trains a classifier across the devices there are, says why, and writes report.html"
	@echo "make test    set up what is missing, then run every test"
	@echo "make test-cpu-alone   the facade's tests without the cargo feature gpu, and that nothing of wgpu is built then"
	@echo "make test-all   the same, then the report page in Chromium and our event files in TensorBoard (installs both)"
	@echo "make soak    the random tests, for longer, and every op at every large size"
	@echo "make fuzz    every parser under cargo fuzz, a minute each (FUZZ_SECONDS; installs cargo-fuzz)"
	@echo "make sanitize   unit tests of situ-cpu, situ-runtime and situ-gpu under AddressSanitizer and ThreadSanitizer"
	@echo "make lint    formatting, clippy, documentation warnings"
	@echo "make bench   ratios against torch, TensorFlow, JAX and ONNX Runtime (downloads them once)"
	@echo "make place-figures   what the placer reaches on public and generated graphs"
	@echo "make mnist   fetch the MNIST digits, and train a small network on them"
	@echo "make losses  compare the losses of training with PyTorch's (downloads it once)"
	@echo "make doc     build the documentation"
	@echo "make package   pack every crate as it would be published, and build what was packed"

demo: setup
	$(CARGO) run --release -p situ-cli -- demo --report report.html

test: setup
	CARGO="$(CARGO)" scripts/test.sh

test-cpu-alone:
	! $(CARGO) tree --workspace --exclude situ-gpu --no-default-features --edges all --prefix none | grep wgpu
	$(CARGO) test -p situ --no-default-features

# The whole workspace is named so that what `test` has built will do.
test-all: test
	scripts/viewers.sh
	PATH="$(CURDIR)/.venv-tensorboard/bin:$$PATH" $(CARGO) test --workspace --test page --test tensorboard -- --nocapture

# Random graphs through the placer; random programs on any placement: 50,000 on simulated devices, 3,000 on the machine's GPU;
# 1,000 runs of training on the CPU and as many on the GPU that meet a bad label or index; every op at every
# large size, which takes some GiB of memory.
soak: setup
	SITU_SOAK=100000 $(CARGO) test --release -p situ-place --test model no_answer_breaks_a_rule -- --nocapture
	SITU_RECIPES=50000 SITU_GPU_RECIPES=3000 $(CARGO) nextest run --no-fail-fast -p situ-tensor --test any_placement
	SITU_PROGRAMS=100000 SITU_GPU_PROGRAMS=20000 $(CARGO) nextest run --no-fail-fast -p situ-tensor --test function_is_eager
	SITU_BAD_BATCHES=1000 $(CARGO) nextest run --no-fail-fast -p situ-nn --test train bad_label
	SITU_LARGE=all $(CARGO) nextest run --release --no-fail-fast -j 1 -p situ-tensor --test large

fuzz:
	CARGO="$(CARGO)" scripts/fuzz.sh

sanitize: setup
	CARGO="$(CARGO)" scripts/sanitize.sh

lint:
	$(CARGO) fmt --all --check
	@! git ls-files '*.rs' | LC_ALL=C.UTF-8 xargs grep -nE '^.{111,}$$' | grep -E '^[^:]*:[0-9]+: *//' || { echo 'comment lines beyond 110 columns'; false; }
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --no-deps --workspace

doc:
	$(CARGO) doc --no-deps --workspace

package:
	$(CARGO) package --workspace

mnist: setup
	scripts/mnist.sh
	$(CARGO) run --release -p situ --example mnist

losses: setup
	scripts/peers.sh
	$(CARGO) run --release -p situ-bench --bin losses -- target/losses
	.venv/bin/python scripts/compare_losses.py target/losses

place-figures:
	CARGO="$(CARGO)" scripts/place_figures.sh

bench:
	scripts/peers.sh
	CARGO="$(CARGO)" .venv/bin/python bench/run.py $(BENCH)
	$(CARGO) bench -p situ-tensor --bench placement
	$(CARGO) bench -p situ-tensor --bench shapes

setup:
	@scripts/setup.sh
