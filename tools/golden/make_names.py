"""The names of MXNet 1.9.1's public operators, for tests/ops/test_names.py and tools/gen.py.

usage: ORACLE_PYTHON tools/golden/make_names.py > tests/golden/operator_names.txt

A line has an operator's own name and then its aliases. Left out are the operators of MXNet 2's
NumPy front end, those behind gradients, those of other libraries, and those that no user can call:
MXNet's functions give them no inputs, or they want pointers to its own objects. The script checks
that every name is where `ferromix/ops/namespaces.py` has it.
"""

import ctypes

import mxnet as mx
from mxnet.base import _LIB, check_call, py_str

ELSEWHERE = ("_np", "_backward", "_sg_", "_contrib_tvm")
NAMESPACES = ("contrib", "linalg", "sparse", "image")
POINTERS = ("any container is empty", "info of ptr")


def registry():
    """All names of the registry, in the order of letters."""
    count, found = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    check_call(_LIB.MXListAllOpNames(ctypes.byref(count), ctypes.byref(found)))
    return sorted(py_str(found[i]) for i in range(count.value))


def described(name):
    """The operator's own name, and whether there is anything that its function takes."""
    handle = ctypes.c_void_p()
    check_call(_LIB.NNGetOpHandle(name.encode(), ctypes.byref(handle)))
    own, text, counter, kind = (ctypes.c_char_p() for _ in range(4))
    count = ctypes.c_uint()
    lists = [ctypes.POINTER(ctypes.c_char_p)() for _ in range(3)]
    places = [ctypes.byref(x) for x in (own, text, count, *lists, counter, kind)]
    check_call(_LIB.MXSymbolGetAtomicSymbolInfo(handle, *places))
    return py_str(own.value), bool(count.value or counter.value)


def function(front, name):
    """The function of an operator, where a user finds it."""
    if name.startswith("_random_") and name.endswith("_like"):
        return getattr(front.random, name[len("_random_") :])
    for namespace in NAMESPACES:
        prefix = f"_{namespace}_"
        if name.startswith(prefix):
            return getattr(getattr(front, namespace), name[len(prefix) :])
    return getattr(front._internal if name.startswith("_") else front.op, name)


def wants_pointers(call):
    """Whether a call fails for want of an object that only MXNet has."""
    try:
        call()
    except Exception as e:
        return any(text in str(e) for text in POINTERS)
    return False


def main():
    found = {}
    for name in registry():
        own, takes = described(name)
        for front in (mx.nd, mx.sym):
            call = None if name.startswith(ELSEWHERE) else function(front, name)
        if call is not None and takes and not wants_pointers(function(mx.nd, name)):
            found.setdefault(own, []).append(name)
    for own, names in sorted(found.items()):
        print(*sorted(names, key=lambda name: (name != own, name)))


if __name__ == "__main__":
    main()
