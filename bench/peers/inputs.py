"""Inputs for the peers: standard normal float32, the same for every system.

NumPy puts large arrays on huge pages where the kernel allows it, so peers that share its memory get
them too.
"""

import numpy as np
from cases import CONVOLUTIONS, convolution, dims, op


def normal(*shape):
    """A standard normal array; the seed depends on the shape alone."""
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)


def product(dtype, m, k, n):
    """The sides of a matrix product: numbers of a float dtype, or any bytes. bf16 is the caller's to make: NumPy has none."""
    if dtype == "i8":
        rng = np.random.default_rng(m + k + n)
        return [rng.integers(-128, 128, size, dtype=np.int8) for size in ((m, k), (k, n))]
    sides = [normal(m, k), normal(k, n)]
    return [side.astype(np.float64) for side in sides] if dtype == "f64" else sides


def operands(case):
    """The input arrays of one case, in the order in which the op takes them; images, filters and upstream gradient of a convolution."""
    kind, sizes = op(case), dims(case)
    if case in CONVOLUTIONS:
        c = convolution(case)
        return [normal(c.images, c.channels, c.side, c.side),
                normal(c.filters, c.channels // c.groups, c.kernel, c.kernel),
                normal(c.images, c.filters, c.places, c.places)]
    if kind.startswith("matmul"):
        return product(kind.removeprefix("matmul").removeprefix("_"), *sizes)
    if kind in ("eager_add", "add", "add_relu"):
        return [normal(*sizes), normal(*sizes)]
    if kind == "layer_norm":
        return [normal(*sizes), normal(sizes[-1]), normal(sizes[-1])]
    return [normal(*sizes)]
