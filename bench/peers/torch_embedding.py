"""PyTorch's step of a table that is looked up in: `SparseAdam` on sparse gradients, and Adam with fused kernels on dense ones."""

import torch
from cases import EMBEDDINGS, dims

from .networks import BETA1, BETA2, EPSILON, RATE


def cases():
    return {case: lambda case=case: prepare(case) for case in EMBEDDINGS}


def prepare(case):
    rows, width, count = dims(case)
    is_sparse = "dense" not in case
    torch.manual_seed(1)
    table = torch.nn.Embedding(rows, width, sparse=is_sparse)
    indices = torch.arange(count) * 7919 % rows
    targets = torch.randn(count, width)
    numbers = {"lr": RATE, "betas": (BETA1, BETA2), "eps": EPSILON}
    if is_sparse:
        adam = torch.optim.SparseAdam(table.parameters(), **numbers)
    else:
        adam = torch.optim.Adam(table.parameters(), fused=True, **numbers)

    def step():
        loss = (table(indices) - targets).square().mean()
        loss.backward()
        adam.step()
        adam.zero_grad(set_to_none=True)
        return loss

    return "step()", {"step": step}
