"""The networks of the training cases, for every system: shapes and first weights.

Dense: 784 → 128, relu → 10. CNN, on 28×28 with one channel and nothing around the image: 3×3 ×32, relu,
maximum of 2×2, 3×3 ×64, relu, maximum of 2×2, dense 128, relu, dense 10. ResNet: a block of ResNet-18 on 64
channels of 56×56: 3×3 ×64, batch norm, relu, 3×3 ×64, batch norm, with the input added, relu; mean over the
places, dense 10. Softmax cross-entropy with class
numbers, mean over the batch; Adam at 1e-3.
"""

import numpy as np

from .inputs import normal

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def is_cnn(case):
    return case.startswith("cnn")


def is_resnet(case):
    return case.startswith("resnet")


def weights(case, filters):
    """The first weights, in the order of the layers: each with its bias. `filters` is the order of a filter's axes,
    "oihw" or "hwio"."""
    dense, convolutions = [(784, 128), (128, 10)], []
    if is_cnn(case):
        dense, convolutions = [(1600, 128), (128, 10)], [(32, 1), (64, 32)]
    if is_resnet(case):
        dense, convolutions = [(64, 10)], [(64, 64), (64, 64)]
    arrays = []
    for out, inputs in convolutions:
        array = normal(out, inputs, 3, 3) * np.float32((2 / (9 * inputs)) ** 0.5)
        arrays.append(array.transpose([("oihw").index(axis) for axis in filters]).copy())
        # The scale of a batch norm, then the bias, or the shift.
        arrays += [np.ones(out, np.float32)] if is_resnet(case) else []
        arrays.append(np.zeros(out, np.float32))
    for rows, columns in dense:
        arrays += [normal(rows, columns) * np.float32((2 / rows) ** 0.5), np.zeros(columns, np.float32)]
    return arrays


def batch(case, size, channels_last):
    """Inputs and labels of a batch."""
    labels = (np.arange(size) * 7 % 10).astype(np.int32)
    if is_resnet(case):
        return normal(*([size, 56, 56, 64] if channels_last else [size, 64, 56, 56])), labels
    if not is_cnn(case):
        return normal(size, 784), labels
    return normal(*([size, 28, 28, 1] if channels_last else [size, 1, 28, 28])), labels
