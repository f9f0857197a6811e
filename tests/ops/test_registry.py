"""Cards, kernels and cases agree; every operator is documented."""

import doctest
import inspect

import pytest

import ferromix as mx
from ferromix import _core
from ferromix.graph.gradient import differentiate
from ferromix.graph.node import Entry, Node, argument_names
from ferromix.ops import call
from ferromix.ops import card as cards
from ferromix.ops.card import OperatorProperty, builtin_names, find, make, names
from ferromix.ops.composed import Composed
from ferromix.ops.csr import Parts
from ferromix.ops.graphs import Graph
from ferromix.ops.namespaces import PREFIXES, members
from ferromix.ops.own_backward import PythonRun

from .by_operator import by_operator
from .run import backward, forward, second_order, to_arrays
from .table import CASES, MODULES

CARDS = sorted(
    {c for c in map(find, names(hidden=True)) if not issubclass(c, PythonRun)}, key=lambda c: c.name
)
PUBLIC = [c for c in CARDS if not c.hidden]
HIDDEN = [c for c in CARDS if c.hidden]
WITH_KERNELS = [c for c in CARDS if not issubclass(c, Composed) and not c.by_values]


def named(cards):
    return ", ".join(c.name for c in cards)


def test_every_operator_has_a_docstring():
    bare = [c for c in CARDS if c.__doc__ in (None, *(b.__doc__ for b in c.__mro__[1:]))]
    assert not bare, f"without a docstring: {named(bare)}"


@pytest.mark.parametrize("card", PUBLIC, ids=lambda c: c.name)
def test_docstring_says_what_a_user_asks(card):
    text = inspect.cleandoc(card.__doc__)
    for word in ("Formula:", "Shapes:", "Types:", "Gradient:", "Examples\n--------\n>>> "):
        assert word in text, f"{card.name} lacks '{word}'"


@pytest.mark.parametrize("card", PUBLIC, ids=lambda c: c.name)
def test_examples_run(card):
    text = inspect.cleandoc(card.__doc__)
    test = doctest.DocTestParser().get_doctest(text, {"mx": mx}, card.name, None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    report = []
    with mx.cpu():  # of which all digits are in the examples
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_types_are_claimed_for_arguments_that_there_are():
    for card in CARDS:
        idle = set(card.argument_dtypes) - set(card.arguments)
        assert not idle, f"{card.name} has no {idle}"


def test_every_parameter_is_documented():
    bare = [f"{c.name}.{n}" for c in CARDS for n, p in c.params.items() if not p.doc]
    assert not bare, f"attributes without a sentence: {', '.join(bare)}"


def test_every_operator_has_a_kernel_or_is_made_of_others():
    kernels = set(_core.kernel_names())
    without = [c for c in WITH_KERNELS if (c.kernel or c.name) not in kernels]
    assert not without, f"without a kernel: {named(without)}"
    idle = [c for c in CARDS if issubclass(c, Composed) and c.kernel]
    assert not idle, f"made of others, with a kernel that is never run: {named(idle)}"


def test_every_kernel_has_an_operator():
    used = {c.kernel or c.name for c in WITH_KERNELS}
    used |= {"_call_address", "_map_address"}  # of operators that users compile
    # Of cards that passes make.
    used |= {"_fused", "_convolution_block", "_backward_batch_norm_relu", "_batch_norm_relu_again"}
    used |= {"_channel_blocks", "_norm_block"}
    used |= {make("LeakyReLU", {"act_type": "rrelu"}).kernel_name()}
    assert sorted(set(_core.kernel_names()) - used) == []


def test_every_public_operator_has_a_case():
    tried = {find(c.op) for c in CASES}
    # Graphs are csr arrays: tests/sparse tries operators on them; test_boolean_mask.py the others.
    without = [c for c in PUBLIC if c not in tried and not (issubclass(c, Graph) or c.by_values)]
    assert not without, f"without a case: {named(without)}"


def test_every_public_operator_has_a_gradient_or_none_on_purpose():
    rule = OperatorProperty.gradient
    without = [c for c in PUBLIC if c.differentiable and c.gradient is rule]
    assert not without, f"without a gradient: {named(without)}"
    hidden = [c for c in HIDDEN if c.differentiable and c.gradient is rule]
    assert not hidden, f"hidden, without a gradient and not said to have none: {named(hidden)}"


@by_operator(CASES)
def test_gradients_read_those_of_the_outputs_where_the_card_says_so(case):
    card = case.card
    if isinstance(card, Composed) or not card.differentiable:
        return
    inputs = [Entry(Node(None, name), 0) for name in argument_names(card)]
    node = Node(card, "node", inputs)
    heads = node.outputs()[: node.num_visible_outputs]
    found = differentiate(heads, [e.node for e in inputs[: len(card.list_arguments())]])
    if any(e is not None for e in found.entries):
        read = any(seed is not None for seed in found.head_grads)
        assert read == card.needs_out_grad()


def test_every_hidden_operator_is_run_by_some_gradient():
    run = set()
    for case in CASES:
        if case.card.differentiable and "float64" in case.types():
            arrays = to_arrays(case, case.inputs("float64"), "float64")
            found = forward(case, arrays)
            outs = found[: case.card.num_visible_outputs()]
            again = case.card.again(arrays, found)
            run |= {type(again[0])} if again else set()
            _, graph = backward(case, arrays, outs)
            run |= {type(c) for c, _ in graph.calls}
            run |= {type(c) for c, _ in second_order(case, graph.calls)}
    # Put in where a graph has several devices, and parts of operators.
    parts = {find("_CrossDeviceCopy"), find("_shuffled_places"), find("_flatnonzero")}
    without = [c for c in HIDDEN if c not in run | parts and not issubclass(c, Parts)]
    assert not without, f"hidden and unused: {named(without)}"


def test_tables_have_the_stems_of_the_cards():
    stems = {m.__name__.rsplit(".", 1)[1] for m in MODULES}
    homes = {c.__module__.rsplit(".", 1)[1] for c in CARDS} - {"family"}
    assert stems == homes


@pytest.mark.parametrize("name", [n for n in builtin_names() if not issubclass(find(n), PythonRun)])
def test_both_fronts_have_every_name(name):
    for front in (mx.nd, mx.sym):
        function = getattr(front, name)
        assert function.__name__ == name
        assert function.__doc__.startswith(inspect.cleandoc(find(name).__doc__)[:20])


@pytest.mark.parametrize("namespace", [*PREFIXES, "op", "_internal"])
def test_operators_are_in_their_namespaces_by_their_names(namespace):
    prefix = PREFIXES.get(namespace, "")
    for front in (mx.nd, mx.sym):
        module = getattr(front, namespace)
        own = set(getattr(module, "__all__", ()))
        assert {*own, *members(namespace)} <= set(dir(module))
        with pytest.raises(AttributeError, match="nothing"):
            module.nothing  # noqa: B018
        for called, name in members(namespace).items():
            assert name == prefix + called
            function = getattr(module, called)
            if called not in own and name in builtin_names():  # other tests register some, too
                assert function.__name__ == called
                assert function.__doc__.startswith(inspect.cleandoc(find(name).__doc__)[:20])


def test_names_with_a_prefix_are_those_that_a_namespace_has():
    for namespace, prefix in PREFIXES.items():
        found = {name for name in names() if name.startswith(prefix)}
        if namespace == "random":
            found = {name for name in found if name.endswith("_like")}
        assert set(members(namespace).values()) == found
    assert {"abs", "_plus"} & {*members("op")} == {"abs"}
    assert {"abs", "_plus"} & {*members("_internal")} == {"_plus"}


def test_a_new_name_is_in_its_namespace_at_once(monkeypatch):
    monkeypatch.setattr(cards, "_REGISTRY", {**cards._REGISTRY})
    monkeypatch.setattr(find("relu"), "aliases", find("relu").aliases)
    cards.alias("relu", "_linalg_of_a_test")
    x = mx.sym.Variable("x")
    assert mx.nd.linalg.of_a_test(mx.nd.array([-1, 2])).asnumpy().tolist() == [0, 2]
    assert mx.sym.linalg.of_a_test(x).name == "of_a_test0"
    assert "of_a_test" in dir(mx.sym.linalg)
    del mx.nd.linalg.of_a_test, mx.sym.linalg.of_a_test
    with pytest.raises(mx.MXNetError, match="'abs' is registered twice"):
        cards.alias("relu", "abs")


@pytest.mark.parametrize("card", CARDS, ids=lambda c: c.name)
def test_signature_lists_all_attributes(card):
    parameters = call.signature(card).parameters
    assert set(card.params) <= set(parameters)


def test_cards_are_shared_by_equal_attributes():
    assert make("relu", {}) is make("relu", {})
    assert make("_plus_scalar", {"scalar": 1.0}) is not make("_plus_scalar", {"scalar": 2.0})
