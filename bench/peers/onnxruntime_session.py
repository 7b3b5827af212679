"""ONNX Runtime: one session per case, inputs and result bound beforehand, so that a call only computes."""

import numpy as np
import onnx
import onnxruntime as ort
from cases import CONVOLUTIONS, OPS, convolution, dims, op
from onnx import helper, numpy_helper

from .inputs import operands

VERSION = ort.__version__

NODES = {
    "matmul": [("MatMul", "ab", "y", {})],
    "matmul_f64": [("MatMul", "ab", "y", {})],
    "matmul_i8": [("MatMulInteger", "ab", "y", {})],
    "softmax": [("Softmax", "a", "y", {"axis": -1})],
    "layer_norm": [("LayerNormalization", "abc", "y", {"axis": -1, "epsilon": 1e-5})],
    "add": [("Add", "ab", "y", {})],
    "add_relu": [("Add", "ab", "t", {}), ("Relu", "t", "y", {})],
    "exp": [("Exp", "a", "y", {})],
    "sum": [("ReduceSum", "a", "y", {"keepdims": 0})],
}


def nodes(case):
    if op(case) == "conv2d":
        c = convolution(case)
        return [("Conv", "ab", "y", {"pads": [c.around] * 4, "strides": [c.stride] * 2,
                                     "dilations": [c.dilation] * 2, "group": c.groups})]
    return NODES[op(case)]


def cases(threads):
    offered = {}
    for case in OPS:
        if op(case) == "eager_add" or case in CONVOLUTIONS and op(case) != "conv2d":
            continue  # there is no eager mode, and there are no gradients
        if op(case) == "matmul_bf16":
            continue  # no kernel
        offered[case] = lambda case=case: prepare(case, threads, constants="")
        if op(case).startswith("matmul"):
            offered[f"{case}@constant_b"] = lambda case=case: prepare(case, threads, constants="b")
    return offered


def result_dtype(case):
    return {"matmul_f64": np.float64, "matmul_i8": np.int32}.get(op(case), np.float32)


def result_shape(case):
    if op(case).startswith("matmul"):
        m, _, n = dims(case)
        return [m, n]
    if op(case) == "conv2d":
        c = convolution(case)
        return [c.images, c.filters, c.places, c.places]
    return [] if op(case) == "sum" else list(dims(case))


def model(case, arrays, constants):
    def value(name, dtype, shape):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    named = dict(zip("abc", arrays))
    graph = helper.make_graph(
        [helper.make_node(kind, list(inputs), [output], **attributes)
         for kind, inputs, output, attributes in nodes(case)],
        case,
        [value(name, array.dtype, array.shape) for name, array in named.items() if name not in constants],
        [value("y", result_dtype(case), result_shape(case))],
        [numpy_helper.from_array(named[name], name) for name in constants],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                             ir_version=min(10, onnx.IR_VERSION)).SerializeToString()


def prepare(case, threads, constants):
    arrays = operands(case)[:2] if op(case) == "conv2d" else operands(case)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model(case, arrays, constants), options,
                                   providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    bound = [ort.OrtValue.ortvalue_from_numpy(array) for array in arrays]
    for name, tensor in zip("abc", bound):
        if name not in constants:
            binding.bind_ortvalue_input(name, tensor)
    result = ort.OrtValue.ortvalue_from_numpy(np.empty(result_shape(case), dtype=result_dtype(case)))
    binding.bind_ortvalue_output("y", result)
    # The binding does not keep what it points to alive.
    names = {"run": session.run_with_iobinding, "binding": binding, "keep": (arrays, bound, result)}
    return "run(binding)", names
