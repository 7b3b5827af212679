"""The benchmark's cases: the names that every worker understands, and the shapes they stand for.

A name says the op and the shape, `matmul_32x784x128` being (32×784)·(784×128). A worker may offer a
case in several ways and then calls the others `case@way`. This file says which ways count: it knows
nothing of any system's API.
"""

import collections
import math
import re

MATMULS = ["64x64x64", "256x256x256", "1024x1024x1024", "2048x2048x2048",
           "32x784x128", "32x2048x365", "1x4096x4096"]
# Products of other dtypes than f32: `i8` gives i32, the others their own.
OTHER_MATMULS = ["matmul_f64_256x256x256", "matmul_f64_1024x1024x1024", "matmul_i8_256x256x256",
                 "matmul_i8_1024x1024x1024", "matmul_bf16_256x256x256", "matmul_bf16_1024x1024x1024"]

# Images, channels, side, filters, their side, stride, and where they are not 1 groups and dilation; half a filter of padding around.
SHAPES = ["1x64x56x64x3x1", "32x64x56x64x3x1", "32x3x224x64x7x2", "64x16x32x32x3x2", "64x32x16x64x3x2", "64x16x32x16x3x1",
          "64x64x8x64x3x1", "8x256x56x64x1x1", "8x256x56x64x1x2", "8x128x56x128x3x1x128", "8x128x56x128x3x2x128",
          "8x64x56x64x3x1x8", "8x64x28x64x3x1x1x2"]
CONVOLUTIONS = [f"{op}_{shape}" for op in ("conv2d", "conv2d_by_input", "conv2d_by_filter") for shape in SHAPES]

BASIC_OPS = (
    ["eager_add_4"]
    + [f"matmul_{shape}" for shape in MATMULS] + OTHER_MATMULS
    + ["softmax_32x365", "softmax_4096x365", "softmax_1024x32000", "layer_norm_4096x1024",
       "add_1m", "add_16m", "add_relu_16m", "exp_1m", "sum_16m"]
)
OPS = BASIC_OPS + CONVOLUTIONS

# A step of a network (see `peers/networks.py`) and Adam at that batch size.
TRAINING = ["dense_step_32", "dense_eager_step_32", "cnn_step_64", "cnn_eager_step_64", "resnet_step_8"]

# A step of a table of so many rows and columns, so many of which are looked up, and Adam: lazy on these rows, or
# dense on all.
EMBEDDINGS = ["embedding_step_1000000x64x2048", "embedding_eager_step_1000000x64x2048",
              "embedding_dense_step_1000000x64x2048"]

# A batch of 32×784 floats and labels from the stages named, prefetched.
DATA = ["data_shuffle_batch_32x784", "data_shuffle_map_batch_32x784", "data_shuffle_batch_map_32x784"]

CASES = OPS + TRAINING + EMBEDDINGS + DATA

# What the ratio to the best peer must be at least, with all cores.
LIMITS = {
    **dict.fromkeys(CONVOLUTIONS, 0.95),
    "dense_step_32": 2.0,
    "dense_eager_step_32": 1.3,
    "cnn_step_64": 0.9,
    "embedding_step_1000000x64x2048": 1.0,
    "embedding_eager_step_1000000x64x2048": 1.0,
    "data_shuffle_map_batch_32x784": 5.0,
}

# Figures of ours that have a limit of their own instead of a peer; they are measured once, with all cores.
# A figure: what it is, from the times of cases in nanoseconds, its unit, and what it must be.
FIGURES = [
    ("a call of an empty function", lambda t: t["function_empty"] / 1000, "µs", ("at most", 1.0)),
    ("a node of a compiled chain of 100 adds of 4 floats, not fused",
     lambda t: t["function_chain_100"] / 100_000, "µs", ("at most", 0.15)),
    ("a fused elementwise chain over 16M floats, of the copy's bandwidth",
     lambda t: t["copy_16m"] / t["function_fused_16m"], "", ("at least", 0.8)),
    ("two halves on two CPUs of a core each, of the time on one of them",
     lambda t: t["function_halves_two_cpus"] / t["function_halves_one_cpu"], "", ("at most", 0.6)),
    ("a step of a table of 1,000,000×64 by Adam of all rows, of one of the 2,048 rows looked up",
     lambda t: t["function_embedding_dense"] / t["function_embedding_lazy"], "×", ("at least", 5.0)),
]
FIGURE_CASES = ["function_empty", "function_chain_100", "copy_16m", "function_fused_16m",
                "function_halves_one_cpu", "function_halves_two_cpus",
                "function_embedding_lazy", "function_embedding_dense"]

# Reported in columns of their own and never the "best peer": ours is measured without that help.
NOT_COMPARABLE = {
    "constant_b": "the second matrix is a constant, packed before the clock starts",
}

_COUNTS = {"4": 4, "1m": 1 << 20, "16m": 1 << 24}


def dims(case):
    """The sizes in a case's name: `softmax_32x365` gives (32, 365), `add_1m` gives (1048576,)."""
    size = case.rsplit("_", 1)[1]
    if size in _COUNTS:
        return (_COUNTS[size],)
    return tuple(int(n) for n in size.split("x"))


Convolution = collections.namedtuple("Convolution", "images channels side filters kernel stride groups dilation around places")


def convolution(case):
    """The sizes of a convolution, with the padding around and the places of the result's side."""
    sizes = (*dims(case), 1, 1)[:8]
    _, _, side, _, kernel, stride, _, dilation = sizes
    around = dilation * (kernel // 2)
    return Convolution(*sizes, around, (side + 2 * around - dilation * (kernel - 1) - 1) // stride + 1)


def op(case):
    """The op in a case's name: `layer_norm_4096x1024` gives `layer_norm`."""
    return case.rsplit("_", 1)[0]


def rate(case, nanoseconds):
    """GFLOP/s of a matmul or a convolution; nothing for the others, whose time says enough."""
    if case in CONVOLUTIONS:
        c = convolution(case)
        return 2 * c.images * c.places**2 * c.filters * c.channels // c.groups * c.kernel**2 / nanoseconds
    if not op(case).startswith("matmul"):
        return None
    return 2 * math.prod(dims(case)) / nanoseconds


def select(pattern):
    """The cases whose name matches the regular expression."""
    return [case for case in CASES if re.search(pattern, case)]


def select_figures(pattern):
    """The cases of figures whose name matches the regular expression."""
    return [case for case in FIGURE_CASES if re.search(pattern, case)]
