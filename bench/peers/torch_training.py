"""PyTorch's training steps: eagerly, and by `torch.compile`; Adam with fused kernels."""

import torch
import torch.nn.functional as functional
from cases import TRAINING, dims

from .networks import BETA1, BETA2, EPSILON, RATE, batch, weights


def cases():
    offered = {}
    for case in TRAINING:
        offered[case] = lambda case=case: prepare(case, compiled=False)
        if "eager" not in case:
            offered[f"{case}@compile"] = lambda case=case: prepare(case, compiled=True)
    return offered


def convolve_and_normalize(x, w, scale, shift):
    return functional.batch_norm(functional.conv2d(x, w, padding=1), None, None, scale, shift, training=True)


def logits(x, w):
    if w[0].shape[1] == 64:
        y = functional.relu(convolve_and_normalize(x, *w[:3]))
        x = functional.relu(convolve_and_normalize(y, *w[3:6]) + x).mean((2, 3))
        return torch.addmm(w[7], x, w[6])
    if len(w) == 8:
        x = functional.max_pool2d(functional.relu(functional.conv2d(x, w[0], w[1])), 2)
        x = functional.max_pool2d(functional.relu(functional.conv2d(x, w[2], w[3])), 2)
        x, w = x.flatten(1), w[4:]
    return torch.addmm(w[3], functional.relu(torch.addmm(w[1], x, w[0])), w[2])


def prepare(case, compiled):
    w = [torch.from_numpy(array).requires_grad_() for array in weights(case, "oihw")]
    x, labels = batch(case, dims(case)[0], channels_last=False)
    x, labels = torch.from_numpy(x), torch.from_numpy(labels).long()
    adam = torch.optim.Adam(w, lr=RATE, betas=(BETA1, BETA2), eps=EPSILON, fused=True)

    def loss_of(x, labels):
        return functional.cross_entropy(logits(x, w), labels)

    forward = torch.compile(loss_of) if compiled else loss_of

    def step():
        loss = forward(x, labels)
        loss.backward()
        adam.step()
        adam.zero_grad(set_to_none=True)
        return loss

    return "step()", {"step": step}
