"""What a user sees when something is wrong, message by message, and that work goes on after it."""

from __future__ import annotations

import gc
import gzip
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, OutOfMemoryError


@pytest.fixture(autouse=True)
def work_goes_on():
    """After each error a small computation still gives the right result."""
    yield
    data, weight = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    found = mx.nd.FullyConnected(mx.nd.array(data), mx.nd.array(weight), num_hidden=4, no_bias=True)
    np.testing.assert_allclose(found.asnumpy(), data @ weight.T)
    mx.nd.waitall()


@pytest.fixture
def no_more_memory():
    """The pool may not take another byte than what is in use, nor has it blocks of other tests."""
    gc.collect()
    mx.nd.waitall()
    mx.cpu().empty_cache()
    mx.storage.set_limit(mx.storage.stats()["in_use"])
    yield
    mx.storage.set_limit(None)


def test_wrong_shape_names_operator_argument_and_both_shapes():
    with pytest.raises(
        InvalidArgumentError, match=r"FullyConnected.*'weight' has shape \(4, 5\).*\(4, 3\)"
    ):
        mx.nd.FullyConnected(mx.nd.ones((2, 3)), mx.nd.ones((4, 5)), num_hidden=4, no_bias=True)


def test_wrong_shape_in_a_graph_names_the_node_too():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="dense")
    with pytest.raises(
        InvalidArgumentError,
        match=r"FullyConnected.*'weight' has shape \(4, 5\), expected \(4, 3\).*node 'dense'",
    ):
        net.simple_bind(mx.cpu(), data=(2, 3), dense_weight=(4, 5))


def test_wrong_shape_into_forward():
    ex = mx.sym.tanh(mx.sym.Variable("data")).simple_bind(mx.cpu(), data=(2, 3))
    with pytest.raises(InvalidArgumentError, match=r"'data'.*\(3, 3\).*\(2, 3\)"):
        ex.forward(data=mx.nd.ones((3, 3)))


def test_unknown_attribute_lists_the_valid_ones():
    with pytest.raises(
        InvalidArgumentError,
        match=r"Convolution: unknown attribute 'strides'.*did you mean 'stride'.*kernel.*filter",
    ):
        mx.sym.Convolution(mx.sym.Variable("x"), kernel=(3, 3), num_filter=1, strides=(2, 2))


def test_ill_typed_attribute_says_what_is_allowed():
    with pytest.raises(
        InvalidArgumentError, match=r"Activation: attribute 'act_type' must be one of.*'relu'.*'x'"
    ):
        mx.nd.Activation(mx.nd.ones((1,)), act_type="x")
    with pytest.raises(InvalidArgumentError, match=r"Dropout: attribute 'p' must be a float.*2"):
        mx.nd.Dropout(mx.nd.ones((1,)), p=2)


def test_missing_argument_is_named():
    with pytest.raises(InvalidArgumentError, match="FullyConnected: argument 'weight' is missing"):
        mx.nd.FullyConnected(mx.nd.ones((2, 3)), num_hidden=4)
    with pytest.raises(InvalidArgumentError, match="attribute 'num_hidden' is required: an int"):
        mx.nd.FullyConnected(mx.nd.ones((2, 3)), mx.nd.ones((4, 3)), no_bias=True)


def test_missing_array_at_bind_is_named():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="dense")
    with pytest.raises(InvalidArgumentError, match="dense_weight"):
        net.bind(mx.cpu(), {"data": mx.nd.ones((2, 3)), "dense_bias": mx.nd.ones((4,))})


def test_incomplete_shapes_list_what_is_unknown():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="dense")
    with pytest.raises(InvalidArgumentError, match="data") as e:
        net.simple_bind(mx.cpu())
    assert "dense_weight" in str(e.value)


def test_unknown_operator_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Convolutionn"):
        _ = mx.nd.Convolutionn


SCARCE = """
import numpy as np
import ferromix as mx
data, weight = mx.nd.ones((4, 8, 64, 64)), mx.nd.ones((8, 8, 5, 5))
out, dependent, other = mx.nd.zeros((4, 8, 60, 60)), mx.nd.zeros((4, 8, 60, 60)), mx.nd.zeros((2,))
mx.nd.waitall()
mx.storage.set_limit(mx.storage.stats()["in_use"])  # too little for a convolution's scratch
mx.nd.Convolution(data, weight, kernel=(5, 5), num_filter=8, no_bias=True, out=out)  # line 8
"""


def run_where_memory_is_scarce(program, folder):
    """Runs it in a process of its own: here others' memory, freed late, would count, too."""
    file = folder / "program.py"
    file.write_text(SCARCE + textwrap.dedent(program))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_failing_operator_surfaces_at_the_wait_with_the_users_line(tmp_path):
    program = """
        try:
            out.wait_to_read()
        except mx.error.OutOfMemoryError as e:
            print(e)
        out.wait_to_read()  # raised once, and only once
        """
    message = run_where_memory_is_scarce(program, tmp_path)
    assert "Convolution" in message
    assert "program.py:8" in message


def test_an_error_passes_on_to_what_depends_on_it(tmp_path):
    program = """
        mx.nd.tanh(out, out=dependent)
        other += 1
        try:
            dependent.asnumpy()
        except mx.error.OutOfMemoryError as e:
            print(e)
        np.testing.assert_array_equal(other.asnumpy(), [1, 1])
        """
    assert "Convolution" in run_where_memory_is_scarce(program, tmp_path)


def test_out_of_memory_says_asked_for_in_use_and_limit(no_more_memory):
    with pytest.raises(OutOfMemoryError, match=r"4194304.*in use.*limit"):
        mx.nd.zeros((1024, 1024))


def test_out_of_memory_for_an_output_names_the_operator(no_more_memory):
    mx.storage.set_limit(None)
    data = mx.nd.ones((1, 1))
    mx.storage.set_limit(mx.storage.stats()["in_use"])
    with pytest.raises(OutOfMemoryError, match=r"^operator broadcast_to: cannot allocate 4194304"):
        mx.nd.broadcast_to(data, shape=(1024, 1024))


def test_truncated_params_file(tmp_path):
    path = tmp_path / "cut.params"
    mx.nd.save(path, {"weight": mx.nd.ones((8,))})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FileFormatError, match=r"cut\.params: at byte 56: expected 32 bytes.*found"):
        mx.nd.load(path)


@pytest.mark.parametrize("compress", [False, True], ids=["plain", "gzip"])
def test_truncated_idx_file(tmp_path, compress):
    whole = bytes([0, 0, 8, 1, 0, 0, 0, 10]) + bytes(4)
    path = tmp_path / "labels-idx1-ubyte"
    path.write_bytes(gzip.compress(whole) if compress else whole)
    with pytest.raises(
        FileFormatError, match=r"labels-idx1-ubyte: at byte 8.*expected 10 bytes.*found.*after 4"
    ):
        mx.io.MNISTIter(image=str(path), label=str(path), batch_size=1)


def test_an_error_that_nobody_waits_for_does_not_disturb_the_exit():
    done = subprocess.run([sys.executable, "-c", SCARCE], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
