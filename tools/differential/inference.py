"""What follows from partial knowledge of shapes and types, in Ferromix and in MXNet 1.9.1.

usage: python tools/differential/inference.py --mxnet PYTHON [--count N] [--seed N] [--op NAME]
                                              [--write FILE]

PYTHON is an interpreter whose environment has MXNet 1.9.1; it runs this file, too. Each question is
an operator of a case of tests/ops/cases, of whose inputs and of one of whose outputs something is
known. Prints how many answers agree, and for each operator the first one of each kind that does
not. --write keeps the questions on which both agree, with their answers; for FILE
tests/golden/symbol/inference.json the count was 1.
"""

import argparse
import importlib
import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
UNKNOWN = ((), None)
ABSENT = ("AttributeError", "TypeError", "Not enough argument", "Cannot find argument")
"""What MXNet says where it lacks an operator, an attribute or a symbol's form of an operator."""


def function(sym, name):
    """The function of an operator, wherever a package has it."""
    for module, prefix in (
        (sym.contrib, "_contrib_"),
        (sym.linalg, "_linalg_"),
        (sym.image, "_image_"),
        (sym, ""),
        (sym._internal, ""),
        (sym.random, "_random_"),
    ):
        if name.startswith(prefix) and hasattr(module, name[len(prefix) :]):
            return getattr(module, name[len(prefix) :])
    return getattr(sym._internal, name)


def answer(mx, question):
    """What a package finds: shapes or types of arguments, outputs and states."""
    attrs = {k: tuple(v) if isinstance(v, list) else v for k, v in question["attrs"].items()}
    try:
        with mx.name.NameManager():
            inputs = [mx.sym.Variable(f"x{i}") for i in range(question["inputs"])]
            net = function(mx.sym, question["op"])(*inputs, name="n", **attrs)
            if question["output"] is not None:
                net = mx.sym.elemwise_add(net[question["output"]], mx.sym.Variable("out"), name="s")
            known = {k: v for k, v in question["known"].items() if v not in UNKNOWN}
            if question["what"] == "types":
                found = net.infer_type_partial(**known)
                return [[_type(t) for t in group] for group in found]
            found = net.infer_shape_partial(**{k: tuple(v) for k, v in known.items()})
        return [[list(s) for s in group] for group in found]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


def _type(found):
    name = None if found is None else getattr(found, "__name__", str(found))
    return "bool" if name == "bool_" else name


def _less(random, shape):
    """A shape of which less is known."""
    kind = random.integers(4)
    if kind == 0:
        return ()
    if kind == 1:
        return shape
    return tuple(0 if random.integers(2) else n for n in shape)


def questions(count, seed, only):
    """Questions with the operators, attributes and shapes of the tests' cases."""
    import numpy as np

    sys.path.insert(0, str(ROOT))
    folder = ROOT / "tests" / "ops" / "cases"
    for path in sorted(folder.glob("[a-z]*.py")):
        for case in importlib.import_module(f"tests.ops.cases.{path.stem}").CASES:
            if (only and case.op not in only) or not all(all(s) and s for s in case.shapes):
                continue
            if case.card.num_visible_outputs() == 0:
                continue
            random = np.random.default_rng([seed, *case.id.encode()])
            for _ in range(count):
                yield _question(random, case)


def _question(random, case):
    import ferromix as mx

    names = [f"x{i}" for i in range(len(case.shapes))]
    what = "types" if random.integers(2) else "shapes"
    output = int(random.integers(case.card.num_visible_outputs())) if random.integers(2) else None
    if what == "types":
        dtype = str(random.choice([t for t in case.types() if t != "bfloat16"] or ["float32"]))
        known = {
            n: t if random.integers(2) else None for n, t in zip(names, case.input_types(dtype))
        }
        if output is not None:
            known["out"] = case.result_types(dtype)[output]
    else:
        known = {n: _less(random, s) for n, s in zip(names, case.shapes)}
        if output is not None:
            inputs = [mx.sym.Variable(n) for n in names]
            whole = function(mx.sym, case.op)(*inputs, **case.attrs)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = whole.infer_shape_partial(**dict(zip(names, case.shapes)))
            known["out"] = _less(random, found[1][output])
    return {
        "op": case.op,
        "attrs": case.attrs,
        "inputs": len(names),
        "output": output,
        "what": what,
        "known": known,
    }


def _answers(package):
    warnings.simplefilter("ignore")
    mx = importlib.import_module(package)
    for line in sys.stdin:
        print(json.dumps(answer(mx, json.loads(line))), flush=True)


def _lacks(a, b):
    """Whether `b` says something that `a` does not: a type, a rank or an extent."""
    if a is None or b is None or isinstance(a, str):
        return a is None and b is not None
    return len(a) < len(b) or any(m == 0 and n for m, n in zip(a, b))


def _kind(ours, theirs):
    """How two answers differ, in a few words."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return "here an error" if isinstance(ours, str) else "there an error"
    pairs = [(a, b) for x, y in zip(ours, theirs) for a, b in zip(x, y)]
    if any(_lacks(a, b) for a, b in pairs):
        return "less is known here"
    return "more is known here" if any(_lacks(b, a) for a, b in pairs) else "another answer"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--answer", help="the package that answers what standard input asks")
    parser.add_argument("--count", type=int, default=8, help="questions of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--op", action="append")
    parser.add_argument("--write", type=Path, help="where questions and answers go")
    options = parser.parse_args()
    if options.answer:
        return _answers(options.answer)
    asked = list(questions(options.count, options.seed, options.op))
    text = "".join(json.dumps(q, default=str) + "\n" for q in asked)
    found = [
        subprocess.run(
            [python, __file__, "--answer", package],
            input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
        ).stdout.splitlines()
        for python, package in ((sys.executable, "ferromix"), (options.mxnet, "mxnet"))
    ]  # fmt: skip
    kinds, kept = Counter(), []
    for question, ours, theirs in zip(asked, *(map(json.loads, f) for f in found), strict=True):
        if isinstance(theirs, str) and any(reason in theirs for reason in ABSENT):
            continue
        both = isinstance(ours, str) and isinstance(theirs, str)
        kind = "agree" if both or ours == theirs else _kind(ours, theirs)
        kinds[kind] += 1
        if kind == "agree" and not both:
            kept.append(json.dumps([question, theirs], default=str))
        key = (question["op"], question["what"], kind)
        kinds[key] += 1
        if kind != "agree" and kinds[key] == 1:
            print(f"{kind}: {json.dumps(question, default=str)}\n  here  {ours}\n  there {theirs}")
    print({k: v for k, v in kinds.items() if isinstance(k, str)})
    if options.write:
        options.write.write_text("[\n" + ",\n".join(kept) + "\n]\n")
    return None


if __name__ == "__main__":
    main()
