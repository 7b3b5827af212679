"""tf.data's pipelines: one call is one batch of 32×784 floats and its labels."""

import numpy as np
import tensorflow as tf
from cases import DATA

ROWS, BATCH, BUFFER = 20_000, 32, 1000


def scaled(x, y):
    return x * (1 / 255), y


STAGES = {
    "shuffle_batch": {"": lambda rows: rows.batch(BATCH)},
    "shuffle_map_batch": {
        "": lambda rows: rows.map(scaled).batch(BATCH),
        "parallel": lambda rows: rows.map(scaled, num_parallel_calls=2).batch(BATCH),
    },
    "shuffle_batch_map": {"": lambda rows: rows.batch(BATCH).map(scaled)},
}


def cases():
    offered = {}
    for case in DATA:
        stages = case.removeprefix("data_").removesuffix("_32x784")
        for way, make in STAGES[stages].items():
            offered[case + (f"@{way}" if way else "")] = lambda make=make: prepare(make)
    return offered


def prepare(make):
    x = np.random.default_rng(0).uniform(0, 255, (ROWS, 784)).astype(np.float32)
    rows = tf.data.Dataset.from_tensor_slices((x, np.arange(ROWS, dtype=np.int32)))
    batches = iter(make(rows.shuffle(BUFFER, seed=7).repeat()).prefetch(2))
    return "next(batches)", {"batches": batches}
