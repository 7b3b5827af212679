"""PyTorch, eager, in inference mode: a fresh result per call, and into a given result where it can."""

import numpy as np
import torch
import torch.nn.functional as functional
from cases import CONVOLUTIONS, OPS, convolution, dims, op

from . import torch_embedding, torch_training
from .inputs import operands

VERSION = torch.__version__

STATEMENTS = {
    "eager_add": {"": "a + b"},
    "matmul": {"": "a @ b"},
    "matmul_f64": {"": "a @ b"},
    "matmul_bf16": {"": "a @ b"},
    "matmul_i8": {"": "torch._int_mm(a, b)"},
    "softmax": {"": "torch.softmax(a, -1)"},
    "layer_norm": {"": "layer_norm(a, (a.shape[-1],), b, c)"},
    "add": {"": "a + b", "out": "torch.add(a, b, out=result)"},
    # The sum is a temporary, so relu may work in its place.
    "add_relu": {"": "torch.relu(a + b)", "inplace": "(a + b).relu_()"},
    "exp": {"": "torch.exp(a)", "out": "torch.exp(a, out=result)"},
    "sum": {"": "a.sum()"},
    # With channels last in memory, too: the shapes are the same.
    "conv2d": {way: "conv2d(a, b, None, stride, around, dilation, groups)" for way in ("", "last")},
    "conv2d_by_input": {way: "backward(c, a, b, None, *how, [True, False, False])[0]" for way in ("", "last")},
    "conv2d_by_filter": {way: "backward(c, a, b, None, *how, [False, True, False])[1]" for way in ("", "last")},
}

_inference = torch.inference_mode()


def cases(threads):
    torch.set_num_threads(threads)
    _inference.__enter__()
    offered = {
        case + (f"@{way}" if way else ""): lambda case=case, statement=statement, way=way: prepare(
            case, statement, way)
        for case in OPS
        for way, statement in STATEMENTS[op(case)].items()
    }
    for name, make in (torch_training.cases() | torch_embedding.cases()).items():
        offered[name] = lambda make=make: with_gradients(make)
    return offered


def with_gradients(make):
    """Training is asked for after all ops: a worker never goes back to inference."""
    if torch.is_inference_mode_enabled():
        _inference.__exit__(None, None, None)
    return make()


def prepare(case, statement, way):
    tensors = [torch.from_numpy(array) for array in operands(case)]
    if op(case) == "matmul_bf16":
        tensors = [tensor.bfloat16() for tensor in tensors]
    if way == "last":
        tensors = [tensor.contiguous(memory_format=torch.channels_last) for tensor in tensors]
    names = dict(zip("abc", tensors), torch=torch, layer_norm=functional.layer_norm, conv2d=functional.conv2d)
    if case in CONVOLUTIONS:
        c = convolution(case)
        how = ([c.stride] * 2, [c.around] * 2, [c.dilation] * 2, False, [0, 0], c.groups)
        names |= c._asdict() | {"how": how, "backward": torch.ops.aten.convolution_backward}
    if "result" in statement:
        # NumPy's memory, for its huge pages.
        names["result"] = torch.from_numpy(np.empty(tensors[0].shape, dtype=np.float32))
    return statement, names
