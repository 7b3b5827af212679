"""PyTorch, eager, in inference mode: a fresh result per call, and into a given result where it can."""

import numpy as np
import torch
import torch.nn.functional as functional
from cases import OPS, dims, op

from . import torch_training
from .inputs import operands

VERSION = torch.__version__

STATEMENTS = {
    "eager_add": {"": "a + b"},
    "matmul": {"": "a @ b"},
    "softmax": {"": "torch.softmax(a, -1)"},
    "layer_norm": {"": "layer_norm(a, (a.shape[-1],), b, c)"},
    "add": {"": "a + b", "out": "torch.add(a, b, out=result)"},
    # The sum is a temporary, so relu may work in its place.
    "add_relu": {"": "torch.relu(a + b)", "inplace": "(a + b).relu_()"},
    "exp": {"": "torch.exp(a)", "out": "torch.exp(a, out=result)"},
    "sum": {"": "a.sum()"},
    "conv2d": {"": "conv2d(a, b, None, stride, around)"},
}

_inference = torch.inference_mode()


def cases(threads):
    torch.set_num_threads(threads)
    _inference.__enter__()
    offered = {
        case + (f"@{way}" if way else ""): lambda case=case, statement=statement: prepare(case, statement)
        for case in OPS
        for way, statement in STATEMENTS[op(case)].items()
    }
    for name, make in torch_training.cases().items():
        offered[name] = lambda make=make: with_gradients(make)
    return offered


def with_gradients(make):
    """Training is asked for after all ops: a worker never goes back to inference."""
    if torch.is_inference_mode_enabled():
        _inference.__exit__(None, None, None)
    return make()


def prepare(case, statement):
    tensors = [torch.from_numpy(array) for array in operands(op(case), dims(case))]
    names = dict(zip("abc", tensors), torch=torch, layer_norm=functional.layer_norm, conv2d=functional.conv2d)
    if op(case) == "conv2d":
        names |= {"around": dims(case)[4] // 2, "stride": dims(case)[5]}
    if "result" in statement:
        # NumPy's memory, for its huge pages.
        names["result"] = torch.from_numpy(np.empty(tensors[0].shape, dtype=np.float32))
    return statement, names
