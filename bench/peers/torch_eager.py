"""PyTorch, eager, in inference mode: a fresh result per call, and into a given result where it can."""

import numpy as np
import torch
import torch.nn.functional as functional
from cases import CASES, dims, op

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
}


def cases(threads):
    torch.set_num_threads(threads)
    # Entered for the rest of the process: a worker does nothing else.
    torch.inference_mode().__enter__()
    return {
        case + (f"@{way}" if way else ""): lambda case=case, statement=statement: prepare(case, statement)
        for case in CASES
        for way, statement in STATEMENTS[op(case)].items()
    }


def prepare(case, statement):
    tensors = [torch.from_numpy(array) for array in operands(op(case), dims(case))]
    names = dict(zip("abc", tensors), torch=torch, layer_norm=functional.layer_norm)
    if "result" in statement:
        # NumPy's memory, for its huge pages.
        names["result"] = torch.from_numpy(np.empty(tensors[0].shape, dtype=np.float32))
    return statement, names
