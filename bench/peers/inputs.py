"""Inputs for the peers: standard normal float32, the same for every system.

NumPy puts large arrays on huge pages where the kernel allows it, so peers that share its memory get
them too.
"""

import numpy as np


def normal(*shape):
    """A standard normal array; the seed depends on the shape alone."""
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def operands(op, dims):
    """The input arrays of one case, in the order in which the op takes them."""
    if op == "matmul":
        m, k, n = dims
        return [normal(m, k), normal(k, n)]
    if op == "conv2d":
        images, channels, side, filters, kernel, _ = dims
        return [normal(images, channels, side, side), normal(filters, channels, kernel, kernel)]
    if op in ("eager_add", "add", "add_relu"):
        return [normal(*dims), normal(*dims)]
    if op == "layer_norm":
        return [normal(*dims), normal(dims[-1]), normal(dims[-1])]
    return [normal(*dims)]
