"""Packages of AOTInductor, and Inductor's C++ wrapper: every operator, with every kind of output type.

tests/cpp/test_examples.py runs a package in a C++ program without Python."""

import multiprocessing

import pytest
import torch

from torch_reduce._schemas import REDUCTIONS, SCANS
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    fill,
    function_of,
    gives_floating,
    has_gradient,
    operator_of,
    takes_dtype,
)

OUTPUT_TYPES = [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.bool]
TYPED = [op for op in OPS if takes_dtype(op)]


class EveryOperator(torch.nn.Module):
    """Alone, of lists of dims, of two output types, which are the next ones for the next operator, and of what is added
    to it: another type would show there."""

    def forward(self, x):
        results = []
        for op in OPS:
            run = operator_of(op)
            results += [run(x), run(x, [0, 1], keepdim=True) + 1, run(x * 2, 1)]
        for i, op in enumerate(TYPED):
            run = operator_of(op)
            types = [t for t in OUTPUT_TYPES if t.is_floating_point or not gives_floating(op)]
            types = [types[(2 * i + j) % len(types)] for j in (0, 1)]
            results += [run(x, [1], dtype=t) for t in types]
            results += [run(x, [0, 1], keepdim=True, dtype=t, mode="atomic") * 2 for t in types if t != torch.bool]
        for name in SCANS:
            run = SCANS[name].packet
            results += [run(x, 1), run(x * 2, 0) + 1]
            if SCANS[name].gives_pair:
                results += getattr(torch.ops.reduce, name)(x, 1)
            if SCANS[name].takes_dtype:
                results += [run(x, -1, dtype=t) for t in OUTPUT_TYPES]
        accumulators = torch.ops.reduce.exact_accumulate(x, [1])
        results += [torch.ops.reduce.exact_round(accumulators, dtype=t) for t in (torch.float64, torch.float16)]
        return tuple(results)


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


def check(run, x):
    for actual, expected in zip(run(x), EveryOperator()(x), strict=True):
        assert_same_bits(actual, expected)


def packaged(module, x, folder, **keywords):
    exported = torch.export.export(module, (x,), **keywords)
    path = torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / "model.pt2"))
    return torch._inductor.aoti_load_package(path)


def package_every_operator(device, folder):
    x = fill((5, 400), torch.float32, op="prod").to(device)
    package = packaged(EveryOperator(), x, folder, dynamic_shapes={"x": {0: torch.export.Dim("rows", max=64)}})
    check(package, x)
    check(package, fill((7, 400), torch.float32, op="prod").to(device))


def package_nothing_of_ours(folder):
    packaged(torch.nn.ReLU(), torch.ones(3), folder)


def exit_code(target, *arguments):
    """Of a process of its own: one that a signal ends has a negative one."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments)
    process.start()
    process.join()
    return process.exitcode


def test_package(device, tmp_path):
    code = exit_code(package_every_operator, device, tmp_path)
    if code < 0 and exit_code(package_nothing_of_ours, tmp_path) == code:
        pytest.skip(f"this torch cannot load its own packages: signal {-code}")
    assert code == 0


def test_cpp_wrapper(device):
    x = fill((5, 400), torch.float32, op="prod").to(device)
    with torch._inductor.config.patch(cpp_wrapper=True):
        check(torch.compile(EveryOperator(), fullgraph=True), x)


def test_graphs_have_what_inductor_can_write():
    """After functionalisation no argument is a dtype, whose number AOTInductor writes wrong, nor a list that may be
    absent, which the C++ wrapper refuses."""
    x = fill((5, 400), torch.float32, op="prod")
    program = torch.export.export(EveryOperator(), (x,)).run_decompositions()
    ours = {node.target for node in program.graph.nodes if str(node.target).startswith("reduce.")}
    assert len(ours) == 3
    for target in ours:
        types = {str(argument.real_type) for argument in target._schema.arguments}
        assert not types & {"ScalarType", "Optional[ScalarType]", "Optional[List[int]]"}, target
    check(program.run_decompositions().module(), x)


@pytest.mark.parametrize("op", [op for op in OPS if has_gradient(op)])
def test_gradients_of_decomposed_programs(op):
    """What is called by its name has the gradient of the operator."""
    x = fill((5, 40), torch.float32, op="prod").requires_grad_()
    order = 2.0 if REDUCTIONS[op].takes_order else 1.0
    actual = torch.ops.reduce._by_name(x, op, [1], False, "", "deterministic", order)
    expected = function_of(op)(x, 1)
    assert_same_bits(actual, expected)
    assert_same_bits(*(torch.autograd.grad(y.sum(), x)[0] for y in (actual, expected)))


def test_unknown_names_are_refused():
    x = torch.ones(3)
    with pytest.raises(ValueError, match='^reduce: unknown dtype "float31"$'):
        torch.ops.reduce._by_name(x, "sum", [], False, "float31", "deterministic")
    with pytest.raises(ValueError, match='^reduce: unknown operator "total"; there are '):
        torch.ops.reduce._by_name(x, "total", [], False, "float64", "deterministic")
