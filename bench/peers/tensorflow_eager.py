"""TensorFlow: eager ops; where a case is several ops also `tf.function`, without and with XLA."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf  # noqa: E402 (the log level must come first)
from cases import CONVOLUTIONS, OPS, convolution, op  # noqa: E402

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
    "matmul_f64": tf.matmul,
    "matmul_bf16": tf.matmul,
    "matmul_i8": lambda a, b: tf.matmul(a, b, output_type=tf.int32),
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
        if case in CONVOLUTIONS:
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
    x, filters, upstream = operands(case)
    x, upstream = (tf.constant(array.transpose(0, 2, 3, 1)) for array in (x, upstream))
    c, raw = convolution(case), tf.raw_ops
    filters = filters.transpose(2, 3, 1, 0)
    how = {"strides": [1, c.stride, c.stride, 1], "padding": "EXPLICIT",
           "explicit_paddings": [0, 0, *[c.around] * 4, 0, 0], "dilations": [1, c.dilation, c.dilation, 1]}
    # Filters of depthwise convolutions have an op of their own, with the channels where others have what they take.
    if c.groups == c.channels:
        filters = filters.transpose(0, 1, 3, 2)
        ops = [raw.DepthwiseConv2dNative, raw.DepthwiseConv2dNativeBackpropInput, raw.DepthwiseConv2dNativeBackpropFilter]
    else:
        ops = [raw.Conv2D, raw.Conv2DBackpropInput, raw.Conv2DBackpropFilter]
    filters = tf.constant(filters)
    function, given = {
        "conv2d": (ops[0], {"input": x, "filter": filters}),
        "conv2d_by_input": (ops[1], {"input_sizes": x.shape, "filter": filters, "out_backprop": upstream}),
        "conv2d_by_filter": (ops[2], {"input": x, "filter_sizes": filters.shape, "out_backprop": upstream}),
    }[op(case)]
    return "function(**given)", {"function": function, "given": given | how}


def prepare(case, function):
    tensors = [tf.constant(array) for array in operands(case)]
    if op(case) == "matmul_bf16":
        tensors = [tf.cast(tensor, tf.bfloat16) for tensor in tensors]
    names = dict(zip("abc", tensors), function=function)
    if op(case) == "eager_add":
        return "a + b", names
    return f"function({', '.join('abc'[:len(tensors)])})", names
