"""TensorFlow's training steps, as `tf.function` without and with XLA; its own fused Adam op on variables."""

import tensorflow as tf
from cases import TRAINING, dims

from .networks import BETA1, BETA2, EPSILON, RATE, batch, weights


def cases():
    offered = {}
    for case in TRAINING:
        if "eager" in case:
            offered[case] = lambda case=case: prepare(case, None)
        else:
            offered[case] = lambda case=case: prepare(case, False)
            offered[f"{case}@xla"] = lambda case=case: prepare(case, True)
    return offered


def convolve_and_normalize(x, w, scale, shift):
    return tf.compat.v1.nn.fused_batch_norm(tf.nn.conv2d(x, w, 1, "SAME"), scale, shift, epsilon=1e-5)[0]


def logits(x, w):
    if w[0].shape[-2:] == (64, 64):
        y = tf.nn.relu(convolve_and_normalize(x, *w[:3]))
        x = tf.reduce_mean(tf.nn.relu(convolve_and_normalize(y, *w[3:6]) + x), [1, 2])
        return tf.matmul(x, w[6]) + w[7]
    if len(w) == 8:
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w[0], 1, "VALID"), w[1]))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w[2], 1, "VALID"), w[3]))
        x = tf.reshape(tf.nn.max_pool2d(x, 2, 2, "VALID"), [-1, 1600])
        w = w[4:]
    return tf.matmul(tf.nn.relu(tf.matmul(x, w[0]) + w[1]), w[2]) + w[3]


def prepare(case, xla):
    w = [tf.Variable(array) for array in weights(case, "hwio")]
    means = [tf.Variable(tf.zeros_like(v)) for v in w]
    squares = [tf.Variable(tf.zeros_like(v)) for v in w]
    powers = [tf.Variable(1.0), tf.Variable(1.0)]
    x, labels = map(tf.constant, batch(case, dims(case)[0], channels_last=True))

    def step(x, labels):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits(x, w))
            loss = tf.reduce_mean(losses)
        power1, power2 = powers[0].assign(powers[0] * BETA1), powers[1].assign(powers[1] * BETA2)
        for v, mean, square, gradient in zip(w, means, squares, tape.gradient(loss, w)):
            tf.raw_ops.ResourceApplyAdam(
                var=v.handle, m=mean.handle, v=square.handle, beta1_power=power1, beta2_power=power2, lr=RATE,
                beta1=BETA1, beta2=BETA2, epsilon=EPSILON, grad=gradient)
        return loss

    if xla is not None:
        step = tf.function(step, jit_compile=xla)
    return "step(x, labels)", {"step": step, "x": x, "labels": labels}
