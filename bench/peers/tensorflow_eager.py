"""TensorFlow: eager ops; where a case is several ops also `tf.function`, without and with XLA."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402 (the log level must come first)
from cases import OPS, dims, op  # noqa: E402

from . import tensorflow_data, tensorflow_training  # noqa: E402
from .inputs import operands  # noqa: E402

VERSION = tf.__version__


def layer_norm(a, b, c):
    # TensorFlow has no op of this name; this is what its own layers come down to.
    mean, variance = tf.nn.moments(a, -1, keepdims=True)
    return tf.nn.batch_normalization(a, mean, variance, c, b, 1e-5)


FUNCTIONS = {
    "eager_add": lambda a, b: a + b,
    "matmul": tf.matmul,
    "softmax": tf.nn.softmax,
    "layer_norm": layer_norm,
    "add": tf.add,
    "add_relu": lambda a, b: tf.nn.relu(a + b),
    "exp": tf.exp,
    "sum": tf.reduce_sum,
}

COMPOSED = ("layer_norm", "add_relu")


def cases(threads):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    offered = {}
    for case in OPS:
        if op(case) == "conv2d":
            offered[case] = lambda case=case: prepare_convolution(case)
            continue
        function = FUNCTIONS[op(case)]
        offered[case] = lambda case=case, function=function: prepare(case, function)
        if op(case) in COMPOSED:
            offered[f"{case}@function"] = lambda case=case, function=function: prepare(
                case, tf.function(function))
            offered[f"{case}@xla"] = lambda case=case, function=function: prepare(
                case, tf.function(function, jit_compile=True))
    return offered | tensorflow_training.cases() | tensorflow_data.cases()


def prepare_convolution(case):
    # On CPUs TensorFlow has channels last alone.
    x, filters = operands(op(case), dims(case))
    x, filters = tf.constant(x.transpose(0, 2, 3, 1)), tf.constant(filters.transpose(2, 3, 1, 0))
    around, stride = [dims(case)[4] // 2] * 2, dims(case)[5]
    names = {"conv2d": tf.nn.conv2d, "x": x, "filters": filters, "stride": stride,
             "around": [[0, 0], around, around, [0, 0]]}
    return "conv2d(x, filters, stride, around)", names


def prepare(case, function):
    tensors = [tf.constant(array) for array in operands(op(case), dims(case))]
    names = dict(zip("abc", tensors), function=function)
    if op(case) == "eager_add":
        return "a + b", names
    return f"function({', '.join('abc'[:len(tensors)])})", names
