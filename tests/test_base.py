"""What users import from ``mx.base``, ``mx.registry``, ``mx.context`` and ``mx.libinfo``."""

from __future__ import annotations

import ctypes
import os
import threading
import types

import numpy as np
import pytest

import ferromix as mx
from ferromix import base, registry
from ferromix.error import ArgumentTypeError, DTypeError, InvalidArgumentError, MXNetError


def test_pointers_become_copies_and_views():
    text = ctypes.create_string_buffer(b"ab\0cd")
    pointer = ctypes.cast(text, ctypes.POINTER(ctypes.c_char))
    copied = base.ctypes2buffer(pointer, 5)
    text[0] = b"x"
    assert copied == bytearray(b"ab\0cd")
    numbers = (ctypes.c_float * 6)(*range(6))
    array = base.ctypes2numpy_shared(ctypes.cast(numbers, base.mx_float_p), (2, 3))
    assert (array == np.arange(6, dtype="float32").reshape(2, 3)).all()
    array[1, 1] = 40
    assert numbers[4] == 40
    with pytest.raises(DTypeError, match="pointer to characters, got int"):
        base.ctypes2buffer(3, 4)
    with pytest.raises(TypeError, match="pointer to float32 numbers"):
        base.ctypes2numpy_shared(pointer, (2,))


def test_a_list_of_callbacks_holds_functions_and_their_contexts():
    kind = ctypes.CFUNCTYPE(ctypes.c_int)
    functions = (kind * 2)(kind(lambda: 3), kind(lambda: 4))
    contexts = (ctypes.c_void_p * 2)(7, None)
    pointer = ctypes.POINTER(kind)
    made = base.MXCallbackList(
        2, ctypes.cast(functions, pointer), ctypes.cast(contexts, ctypes.POINTER(ctypes.c_void_p))
    )
    assert [made.callbacks[i]() for i in range(made.num_callbacks)] == [3, 4]
    assert [made.contexts[i] for i in range(2)] == [7, None]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("ValueError: no", ("ValueError: no", "ValueError")),
        ("mxnet.error.A_b: no\n", ("mxnet.error.A_b: no", "mxnet.error.A_b")),
        ("it is so: no", ("it is so: no", None)),
        ("", ("", None)),
        ("plain\nsecond: line", ("plain\nsecond: line", None)),
        (
            "E: why\nStack trace:\n  [0] inner\n  [1] outer\nafter",
            ("Traceback (most recent call last):\n  [1] outer\n  [0] inner\nE: why\nafter", "E"),
        ),
    ],
)
def test_messages_of_c_code_as_python_shows_them(message, expected):
    # MXNet 1.9.1 gives the same for each of these, but for the empty one, at which it fails.
    assert base.c2pyerror(message) == expected


def test_registered_errors_are_found_by_name():
    before = dict(base.error_types)
    try:

        @base.register_error
        class OneError(RuntimeError): ...

        @base.register_error("Two")
        class TwoError(RuntimeError): ...

        base.register_error("Three", TwoError)
        assert base.error_types["OneError"] is OneError
        assert base.error_types["Two"] is base.error_types["Three"] is TwoError
    finally:
        base.error_types.clear()
        base.error_types.update(before)
    assert base.error_types["ValueError"] is ValueError
    assert base.error_types["MXNetError"] is MXNetError


def test_the_last_error_of_a_thread_can_be_had_again():
    with pytest.raises(MXNetError) as caught:
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3))).wait_to_read()
    made = []

    def elsewhere():
        made.append(base.get_last_ffi_error())

    var = mx.engine.new_variable()
    mx.engine.delete_variable(var)
    with pytest.raises(InvalidArgumentError) as second:
        mx.engine.wait_for_var(var)
    again = base.get_last_ffi_error()
    assert (type(again), str(again)) == (InvalidArgumentError, str(second.value))
    assert str(again) != str(caught.value)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert (type(made[0]), str(made[0])) == (MXNetError, "")


def test_errors_of_functions_for_other_arrays_name_what_was_given():
    def reshape(): ...

    error = base.NotImplementedForSymbol(reshape, "Reshape", 3)
    assert isinstance(error, MXNetError)
    assert (error.function, error.alias) == ("reshape", "Reshape")
    # The message of MXNet 1.9.1, but for what it makes of the argument's type.
    assert str(error) == (
        "Function reshape (namely operator \"Reshape\") with arguments (<class 'int'>) is not "
        "implemented for Symbol and only available in NDArray."
    )
    error = base.NotSupportedForSparseNDArray(reshape, None)
    assert str(error) == (
        "Function reshape is not supported for SparseNDArray and only available in NDArray."
    )


def test_class_properties_are_read_and_set_on_the_class():
    class Thing(metaclass=base.ClassProperties):
        kept = 1

        @base.classproperty
        def size(cls):
            return cls.kept

        @size.setter
        def size(cls, value):
            cls.kept = value

        @base.classproperty
        def fixed(cls):
            return cls.__name__

    assert (Thing.size, Thing().size, Thing.fixed) == (1, 1, "Thing")
    Thing.size = 5
    assert (Thing.kept, Thing.size) == (5, 5)
    Thing().size = 6
    assert Thing.size == 6
    Thing.other = 3
    assert Thing.other == 3
    with pytest.raises(MXNetError, match="cannot be set"):
        Thing.fixed = 3


def test_folders_for_data(monkeypatch):
    monkeypatch.delenv("MXNET_HOME", raising=False)
    assert base.data_dir() == base.data_dir_default() == os.path.join("~", ".mxnet")
    monkeypatch.setenv("MXNET_HOME", "/somewhere")
    assert base.data_dir() == "/somewhere"


def test_docstrings_say_where_functions_are_defined():
    made = types.ModuleType("made_for_a_test")
    source = 'def one():\n    "One."\n\nclass Two:\n    def three(self):\n        "Three."\n'
    exec(compile(source, "made.py", "exec"), made.__dict__)
    base.add_fileline_to_docstring(made, incursive=False)
    assert made.one.__doc__ == "One.\n\nFrom:made.py:1"
    assert made.Two.three.__doc__ == "Three."
    base.add_fileline_to_docstring(made)
    base.add_fileline_to_docstring(made)
    assert made.one.__doc__ == "One.\n\nFrom:made.py:1"
    assert made.Two.three.__doc__ == "Three.\n\nFrom:made.py:5"


def test_the_core_is_found():
    (path,) = mx.libinfo.find_lib_path()
    assert os.path.isfile(path)
    assert mx.libinfo.__version__ == mx.__version__
    assert mx.libinfo.find_lib_path("nothing") == []
    assert base.libinfo is mx.libinfo
    assert mx.libinfo.find_include_path().endswith(os.path.join("kernels", "include"))


class Shape:
    def __init__(self, size=1):
        self.size = size


@pytest.fixture
def shapes():
    class Base(Shape): ...

    register = registry.get_register_func(Base, "shape")

    @register
    class Round(Base): ...

    registry.get_alias_func(Base, "shape")("Disc", "o")(Round)
    return Base, Round, registry.get_create_func(Base, "shape")


def test_classes_are_made_from_names_and_what_stands_for_them(shapes):
    base_class, round_class, create = shapes
    assert registry.get_registry(base_class) == dict.fromkeys(("round", "disc", "o"), round_class)
    one = round_class(9)
    assert create(one) is one
    for made, size in (
        (create("ROUND"), 1),
        (create("disc", 3), 3),
        (create("o", size=4), 4),
        (create(shape="round", size=5), 5),
        (create({"shape": "round", "size": 6}), 6),
        (create('["round", {"size": 7}]'), 7),
        (create('{"shape": "round", "size": 8}'), 8),
    ):
        assert (type(made), made.size) == (round_class, size)


def test_what_makes_no_class_is_named(shapes):
    base_class, round_class, create = shapes
    for wrong in ("square", "{", "[1]", 3, '{"shape": 3}'):
        with pytest.raises(InvalidArgumentError):
            create(wrong)
    with pytest.raises(ArgumentTypeError, match="there is no shape among"):
        create(size=3)
    with pytest.raises(InvalidArgumentError, match="further arguments"):
        create(round_class(), 3)
    register = registry.get_register_func(base_class, "shape")
    with pytest.raises(InvalidArgumentError, match="not a subclass of Base"):
        register(int)
    with pytest.warns(UserWarning, match="takes the name round of .*Round"):
        register(type("Other", (base_class,), {}), "round")
    assert type(create("round")).__name__ == "Other"
    with pytest.raises(ArgumentTypeError, match="base_class must be a class"):
        registry.get_registry(3)


def test_the_registries_of_the_package_are_reached_by_their_base():
    found = registry.get_registry(mx.optimizer.Optimizer)
    assert found["sgd"] is mx.optimizer.SGD
    found.clear()  # a copy
    assert registry.get_registry(mx.optimizer.Optimizer)
    create = registry.get_create_func(mx.initializer.Initializer, "initializer")
    assert create("uniform", 0.5).scale == 0.5

    register = registry.get_register_func(mx.metric.EvalMetric, "metric")

    @register
    class MadeInATest(mx.metric.Accuracy): ...

    assert isinstance(mx.metric.create("madeinatest"), MadeInATest)


@pytest.mark.parametrize(
    ("create", "spec", "found"),
    [
        (mx.metric.create, '{"metric": "topkaccuracy", "top_k": 3}', "top_k_accuracy_3"),
        (mx.metric.create, '["topkaccuracy", {"top_k": 2}]', "top_k_accuracy_2"),
        (mx.metric.create, {"metric": "topkaccuracy", "top_k": 4}, "top_k_accuracy_4"),
        (mx.metric.create, mx.metric.MSE(name="error").get_config(), "error"),
        (mx.init.create, '{"initializer": "normal", "sigma": 0.5}', '["normal", {"sigma": 0.5}]'),
        (mx.init.create, '["normal", {"sigma": 2}]', '["normal", {"sigma": 2}]'),
        (mx.init.create, {"initializer": "zero"}, '["zero", {}]'),
        (mx.optimizer.create, '{"optimizer": "nag", "learning_rate": 0.5}', 0.5),
    ],
)
def test_names_with_arguments_may_be_in_dicts_and_in_json(create, spec, found):
    made = create(spec)
    if create is mx.metric.create:
        assert made.name == found
    elif create is mx.init.create:
        assert made.dumps() == found
    else:
        assert (type(made), made.lr) == (mx.optimizer.NAG, found)


def test_names_may_be_keywords_and_in_lists():
    assert mx.init.create(initializer="constant", value=3).dumps() == '["constant", {"value": 3}]'
    every = mx.metric.create(['{"metric": "acc"}', {"metric": "mse"}, "ce"])
    assert every.get()[0] == ["accuracy", "mse", "cross-entropy"]
    array = mx.nd.zeros(2)
    own = {"__init__": '{"initializer": "constant", "value": 3}'}
    mx.init.Uniform()(mx.init.InitDesc("scale", own), array)
    assert array.asnumpy().tolist() == [3, 3]


def test_the_default_context_is_deprecated():
    outer = mx.current_context()
    with pytest.warns(DeprecationWarning, match=r"current_context\(\)") as caught:
        assert mx.Context.default_ctx == outer
    assert caught[0].filename == __file__
    with mx.cpu():
        with pytest.warns(DeprecationWarning, match=r"current_context\(\)") as caught:
            mx.Context.default_ctx = mx.cpu(1)
        assert caught[0].filename == __file__
        assert mx.nd.ones((1,)).context == mx.cpu(1)
    assert mx.current_context() == outer


def test_a_devices_cache_can_be_emptied():
    array = mx.nd.ones((300, 1000), ctx=mx.cpu(2))
    array.wait_to_read()
    del array
    mx.nd.waitall()
    assert mx.storage.stats(mx.cpu(2))["cached"] >= 1_200_000
    mx.cpu(2).empty_cache()
    assert mx.storage.stats(mx.cpu(2))["cached"] < 100_000  # what other threads keep for themselves
    with pytest.raises(MXNetError, match="gpu"):
        mx.gpu(9).empty_cache()
    with pytest.raises(MXNetError, match=r"gpu\(9\) .* GPUs"):
        mx.context.gpu_memory_info(9)


def test_bytes_are_read_as_text():
    assert mx.base.py_str("größer".encode()) == "größer"
