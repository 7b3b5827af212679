"""JAX: training steps by `jit` with donated buffers, and convolutions; nothing else of it is compared."""

import os
import sys

THREADS = int(sys.argv[2])
# XLA's thread pool has as many threads as the process may use cores.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

import jax  # noqa: E402 (the cores must come first)
import jax.numpy as jnp  # noqa: E402
from cases import CONVOLUTIONS, TRAINING, convolution, dims, op  # noqa: E402
from jax import lax  # noqa: E402

from .inputs import operands  # noqa: E402
from .networks import BETA1, BETA2, EPSILON, RATE, batch, weights  # noqa: E402

VERSION = jax.__version__
LAYOUT = ("NHWC", "HWIO", "NHWC")


def cases(threads):
    offered = {case: lambda case=case: prepare_step(case) for case in TRAINING if "eager" not in case}
    return offered | {case: lambda case=case: prepare_convolution(case) for case in CONVOLUTIONS}


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def convolve(x, w, b):
    return jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=LAYOUT) + b)


def convolve_and_normalize(x, w, scale, shift):
    x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=LAYOUT)
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * (scale * lax.rsqrt(variance + 1e-5)) + shift


def logits(w, x):
    if w[0].shape[2:] == (64, 64):
        y = jax.nn.relu(convolve_and_normalize(x, *w[:3]))
        x = jax.nn.relu(convolve_and_normalize(y, *w[3:6]) + x).mean((1, 2))
        return x @ w[6] + w[7]
    if len(w) == 8:
        x = pool(convolve(pool(convolve(x, w[0], w[1])), w[2], w[3])).reshape(-1, 1600)
        w = w[4:]
    return jax.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3]


def loss_of(w, x, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits(w, x)), labels[:, None], 1))


def step(state, x, labels):
    w, means, squares, count = state
    loss, gradients = jax.value_and_grad(loss_of)(w, x, labels)
    count = count + 1
    size = RATE * jnp.sqrt(1 - BETA2**count) / (1 - BETA1**count)
    means = [BETA1 * m + (1 - BETA1) * g for m, g in zip(means, gradients)]
    squares = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(squares, gradients)]
    w = [p - size * m / (jnp.sqrt(v) + EPSILON) for p, m, v in zip(w, means, squares)]
    return (w, means, squares, count), loss


class Training:
    """A network's state, which every step takes over and replaces."""

    def __init__(self, case):
        w = [jnp.asarray(array) for array in weights(case, "hwio")]
        zeros = [[jnp.zeros_like(p) for p in w] for _ in range(2)]
        self.state = (w, *zeros, jnp.zeros((), jnp.float32))
        self.batch = [jnp.asarray(array) for array in batch(case, dims(case)[0], channels_last=True)]
        self.compiled = jax.jit(step, donate_argnums=0)

    def step(self):
        self.state, loss = self.compiled(self.state, *self.batch)
        loss.block_until_ready()
        return self.state[0][0].block_until_ready()


def prepare_step(case):
    return "step()", {"step": Training(case).step}


def prepare_convolution(case):
    x, filters, upstream = operands(case)
    x, upstream = (jnp.asarray(array.transpose(0, 2, 3, 1)) for array in (x, upstream))
    filters, c = jnp.asarray(filters.transpose(2, 3, 1, 0)), convolution(case)

    def forward(x, filters):
        return lax.conv_general_dilated(
            x, filters, [c.stride] * 2, [(c.around, c.around)] * 2, rhs_dilation=[c.dilation] * 2,
            feature_group_count=c.groups, dimension_numbers=LAYOUT)

    # What is not used of the forward pass is not computed.
    function = jax.jit({
        "conv2d": lambda x, filters, upstream: forward(x, filters),
        "conv2d_by_input": lambda x, filters, upstream: jax.vjp(lambda x: forward(x, filters), x)[1](upstream)[0],
        "conv2d_by_filter": lambda x, filters, upstream: jax.vjp(lambda f: forward(x, f), filters)[1](upstream)[0],
    }[op(case)])
    names = {"function": function, "x": x, "filters": filters, "upstream": upstream}
    return "function(x, filters, upstream).block_until_ready()", names
