"""What tests do with their process, and data sets that are not downloaded."""

import gzip
import os
import shutil
import sys
import zipfile

import numpy as np
import pytest

import ferromix as mx
from ferromix import test_utils as t
from ferromix.io import write_idx


def test_failures_are_tried_again():
    tries = []

    @t.retry(3)
    def passes_in(count):
        tries.append(count)
        assert len(tries) == count
        return count

    assert passes_in(3) == 3
    tries.clear()
    with pytest.raises(AssertionError):
        passes_in(4)
    assert len(tries) == 3
    with pytest.raises(ValueError, match="0 tries"):
        t.retry(0)


def test_only_failed_assertions_are_tried_again():
    tries = []

    @t.retry(3)
    def breaks():
        tries.append(None)
        raise KeyError("x")

    with pytest.raises(KeyError):
        breaks()
    assert len(tries) == 1


def test_the_environment_is_restored(monkeypatch):
    monkeypatch.setenv("THERE", "1")
    monkeypatch.delenv("NOT_THERE", raising=False)
    with t.environment({"THERE": None, "NOT_THERE": 2}):
        assert "THERE" not in os.environ
        assert os.environ["NOT_THERE"] == "2"
    with pytest.raises(KeyError), t.environment("THERE", "5"):
        raise KeyError
    assert os.environ["THERE"] == "1"
    assert "NOT_THERE" not in os.environ
    with t.EnvManager("THERE", "3"):
        assert t.set_env_var("THERE", "4") == "3"
    assert os.environ["THERE"] == "1"
    assert t.set_env_var("NOT_THERE", "x", "before") == "before"
    with pytest.raises(ValueError, match="a name and a value"), t.environment("THERE"):
        pass


def test_messages_are_discarded(capfd):
    with t.discard_stderr():
        print("lost", file=sys.stderr)
        os.write(2, b"lost")
    os.write(2, b"kept")
    assert capfd.readouterr().err == "kept"


def test_the_place(monkeypatch):
    before = mx.current_context()
    try:
        t.set_default_context(mx.cpu(1))
        assert t.default_context() == mx.cpu(1) == mx.nd.ones(1).context
    finally:
        t.set_default_context(before)
    assert t.list_gpus() == list(range(mx.num_gpus()))
    monkeypatch.setenv("CD_JOB", "1")
    assert t.is_cd_run()
    assert t.is_op_runnable()
    assert not t.has_tvm_ops()
    assert isinstance(t.is_aarch64_run(), bool)


def test_one_batch_without_end():
    real = mx.io.NDArrayIter(np.arange(12).reshape(6, 2), np.arange(6), 2)
    dummy = t.DummyIter(real)
    assert dummy.next() is dummy.next() is next(dummy)
    assert dummy.provide_data == real.provide_data
    assert dummy.batch_size == 2
    assert dummy.provide_label == real.provide_label
    assert dummy.next().data[0].asnumpy().tolist() == [[0, 1], [2, 3]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    return tmp_path


def test_what_is_not_there_is_not_downloaded(folder):
    calls = [
        t.get_mnist,
        t.get_mnist_ubyte,
        t.get_mnist_pkl,
        t.get_cifar10,
        lambda: t.get_mnist_iterator(2, (784,)),
        lambda: t.download("http://example.com/x.bin", dirname="data"),
        lambda: t.download_model("net", "models"),
        lambda: t.get_bz2_data("data", "x", "http://example.com/x.bz2", "x.bz2"),
    ]
    for call in calls:
        with pytest.raises(FileNotFoundError, match="nothing is downloaded"):
            call()
    (folder / "net-0003.params").touch()
    assert t.download_model("net") == ("net", 3)
    (folder / "x.bin").touch()
    assert t.download("http://example.com/x.bin") == "x.bin"
    assert os.path.isfile(t.get_im2rec_path())


def test_archives_that_are_there(folder):
    (folder / "data").mkdir()
    with zipfile.ZipFile("data/cifar10.zip", "w") as archive:
        for part in ("train", "test"):
            archive.writestr(f"cifar/{part}.rec", b"x")
    t.get_cifar10()
    assert (folder / "data/cifar/test.rec").read_bytes() == b"x"


def test_mnist_that_is_there(folder):
    home = folder / "home/datasets/mnist"
    home.mkdir(parents=True)
    images = np.arange(3 * 28 * 28, dtype=np.uint64).astype(np.uint8).reshape(3, 28, 28)
    for part in ("train", "t10k"):
        write_idx(home / f"{part}-images-idx3-ubyte", images)
        write_idx(home / f"{part}-labels-idx1-ubyte", np.array([1, 0, 9], np.uint8))
    packed = home / "t10k-images-idx3-ubyte"
    with packed.open("rb") as plain, gzip.open(f"{packed}.gz", "wb") as out:
        shutil.copyfileobj(plain, out)
    packed.unlink()
    found = t.get_mnist()
    assert found["test_data"].shape == (3, 1, 28, 28)
    assert found["test_data"].dtype == np.float32
    assert t.almost_equal(found["train_data"][:, 0], images / np.float32(255))
    assert found["train_label"].tolist() == [1, 0, 9]
    train, val = t.get_mnist_iterator(3, (784,))
    assert train.next().data[0].shape == (3, 784)
    assert val.next().label[0].asnumpy().tolist() == [1, 0, 9]
    assert t.get_mnist_iterator(3, (1, 28, 28))[1].next().data[0].shape == (3, 1, 28, 28)
