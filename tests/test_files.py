"""Files that cannot be read or written: one kind of error, whoever meets it."""

import errno
import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileAccessError, MissingFileError, MXNetError


def store():
    kv = mx.kv.create("local")
    kv.set_optimizer(mx.optimizer.SGD())
    return kv


READERS = {
    "nd.load": mx.nd.load,
    "sym.load": mx.sym.load,
    "load_checkpoint": lambda path: mx.model.load_checkpoint(path, 1),
    "load_params": lambda path: mx.model.load_params(path, 1),
    "MNISTIter": lambda path: mx.io.MNISTIter(image=path, label=path),
    "load_optimizer_states": lambda path: store().load_optimizer_states(path),
}
WRITERS = {
    "nd.save": lambda path: mx.nd.save(path, [mx.nd.ones((1,))]),
    "sym.save": lambda path: mx.sym.Variable("x").save(path),
    "write_idx": lambda path: mx.io.write_idx(path, np.zeros(1, np.uint8)),
    "save_optimizer_states": lambda path: store().save_optimizer_states(path),
}


@pytest.mark.parametrize("name", READERS)
def test_a_missing_file(name, tmp_path):
    with pytest.raises(MissingFileError, match="missing") as found:
        READERS[name](tmp_path / "missing")
    error = found.value
    assert isinstance(error, FileNotFoundError)
    assert isinstance(error, MXNetError)
    assert error.errno == errno.ENOENT
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (MissingFileError, str(error))


@pytest.mark.parametrize("name", ["nd.load", "sym.load", "MNISTIter", "load_optimizer_states"])
def test_a_folder_is_no_file(name, tmp_path):
    with pytest.raises(FileAccessError) as found:
        READERS[name](tmp_path)
    assert found.value.errno == errno.EISDIR


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_not_there(name, tmp_path):
    with pytest.raises(MissingFileError, match="x"):
        WRITERS[name](tmp_path / "missing" / "x")
    assert not list(tmp_path.iterdir())
