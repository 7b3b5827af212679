"""Batches of 32×784 f32 from situ's pipelines and from tf.data's, in alternating rounds.

    .venv/bin/python bench/dataset.py [--program target/release/examples/throughput] [--rounds 5]

Build the program first: `cargo build --release -p situ-data --example throughput`.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

ROWS, BATCH, BATCHES = 20_000, 32, 500
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent


def pipelines():
    import numpy as np
    import tensorflow as tf

    x = np.random.default_rng(0).uniform(0, 255, (ROWS, 784)).astype(np.float32)
    y = np.arange(ROWS, dtype=np.int32)
    shuffled = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000, seed=7).repeat()

    def scaled(x, y):
        return x * (1 / 255), y

    return {
        "shuffle+batch+prefetch": shuffled.batch(BATCH).prefetch(2),
        "shuffle+map+batch+prefetch": shuffled.map(scaled).batch(BATCH).prefetch(2),
        "shuffle+map(2)+batch+prefetch": shuffled.map(scaled, num_parallel_calls=2).batch(BATCH).prefetch(2),
        "shuffle+batch+map+prefetch": shuffled.batch(BATCH).map(scaled).prefetch(2),
    }


def their_round(dataset):
    iterator = iter(dataset)
    for _ in range(10):
        next(iterator)
    start = time.perf_counter()
    for _ in range(BATCHES):
        next(iterator)
    return (time.perf_counter() - start) * 1e6 / BATCHES


def our_round(program):
    lines = subprocess.run([program, "1"], check=True, capture_output=True, text=True).stdout.splitlines()
    return {name: float(least) for name, _, least in (line.split() for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(REPOSITORY / "target/release/examples/throughput"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    theirs, ours = {}, {}
    made = pipelines()
    for _ in range(options.rounds):
        for name, value in our_round(options.program).items():
            ours.setdefault(name, []).append(value)
        for name, dataset in made.items():
            theirs.setdefault(name, []).append(their_round(dataset))
    print("| pipeline | situ, µs per batch: least (median) | tf.data | times faster (by the least) |")
    print("|---|---|---|---|")
    for name in made:
        a, b = ours[name], theirs[name]
        print(f"| {name} | {min(a):.1f} ({statistics.median(a):.1f}) | {min(b):.1f} ({statistics.median(b):.1f}) "
              f"| {min(b) / min(a):.1f} |")


if __name__ == "__main__":
    main()
