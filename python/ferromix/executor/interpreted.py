"""Programs of networks with sparse arrays, whose shapes of what is stored differ from run to run,
or with operators whose results have shapes that depend on values.

So there is nothing to plan: the nodes run one by one, as the operators of ``mx.nd`` do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..dispatch.tape import modes
from ..graph.compose import expand, is_composed
from ..graph.gradient import differentiate
from ..graph.infer_storage import infer_storage
from ..graph.liveness import last_uses
from ..graph.node import Entry, Node, cards, topological
from ..graph.plan_memory import MemoryPlan, plan_memory
from ..ndarray import NDArray
from ..ndarray.sparse.run import evaluate
from ..ops import storage
from ..ops.own import OwnOperator
from ..ops.storage import DENSE
from ..symbol import Symbol
from .kernel_plan import KernelPlan, KernelStep
from .network import Network

__all__ = ["Interpreted", "gradient_storage", "makes_sparse", "storage_types"]


def makes_sparse(nodes: Sequence[Node]) -> bool:
    """Whether an operator may give sparse results where everything before it is dense."""
    return any(
        storage.makes_sparse(card.name, card.attrs)
        or (isinstance(card, OwnOperator) and card.makes_sparse)
        for card in cards(nodes)
    )


def storage_types(network: Network, known: Mapping[Entry, str]) -> dict[Entry, str]:
    """The storage types of all entries, from those of variables."""
    heads = [*network.heads, *network.gradients.values()]
    return infer_storage(topological(heads), known)[0]


def gradient_storage(
    symbol: Symbol,
    order: Sequence[Node],
    requests: Mapping[Node, str],
    known: Mapping[Node, str],
) -> dict[Node, str]:
    """The arguments whose gradients are sparse, as the operators on the way give them.

    Parameters
    ----------
    order
        The nodes of the symbol.
    requests
        What is to be done with the gradient of each argument.
    known
        The storage types of variables that are sparse.
    """
    heads = symbol.entries
    if is_composed(order):
        graph = expand(heads)
        heads = [graph[e] for e in heads]
        order = topological(heads)
    sparse_grads = any(card.attrs.get("sparse_grad") for card in cards(order))
    wanted = [n for n, request in requests.items() if request != "null"]
    if not (known or sparse_grads or makes_sparse(order)) or not wanted:
        return {}
    found = differentiate(heads, wanted)
    ends = [e for e in found.entries if e is not None]
    table, _ = infer_storage(
        topological([*heads, *ends]), {Entry(n, 0): s for n, s in known.items()}
    )
    pairs = zip(wanted, found.entries, strict=True)
    stored = {n: table[e] for n, e in pairs if e is not None}
    return {n: stype for n, stype in stored.items() if stype != DENSE}


class Interpreted:
    """A network, or its forward half, bound to arrays of which some are sparse.

    Parameters
    ----------
    network
        The graph.
    arrays
        The arrays of variables, of outputs and of gradients.
    adds
        Gradients that are added to what their array holds.
    backward
        Whether the program computes gradients too.
    is_train
        Whether operators train or predict.
    monitored
        Whether every result is kept until the next pass.
    """

    overwrites = False
    """Each result has an array of its own."""

    def __init__(
        self,
        network: Network,
        arrays: dict[Entry, NDArray],
        adds: set[Entry],
        *,
        backward: bool,
        is_train: bool,
        monitored: bool = False,
    ) -> None:
        self.monitored = monitored
        self._network = network
        self._bound = arrays
        self._adds = adds
        self._train = is_train
        order = [*network.forward, *network.backward] if backward else network.forward
        self._last = last_uses(order)
        self._places = {node: number for number, node in enumerate(order)}
        self._table: dict[Entry, NDArray] = {}

    constant_bytes = 0
    """Nothing is computed once."""

    @property
    def order(self) -> list[Node]:
        """Nothing that is planned."""
        return []

    @property
    def memory(self) -> MemoryPlan:
        """The plan of memory: none, as every result is an array of its own."""
        return plan_memory([], {}, (), set(), {})

    def kernel_plan(self) -> KernelPlan:
        """The operators; which kernels run is decided by the arrays of each pass."""
        nodes = [(n.name, n.op.name) for n in self._places if n.op is not None]
        return KernelPlan([KernelStep(*names, None, 0, 0) for names in nodes])

    def forward(self, first: int = 0, last: int | None = None) -> None:
        """Runs the forward half, or its nodes from `first` to before `last`."""
        if first == 0:
            self._table = {}
        self._run(self._network.forward[first:last], self._train)

    def backward(self, is_train: bool, first: int = 0, last: int | None = None) -> None:
        """Runs the backward half, or its nodes from `first` to before `last`.

        In the mode of the forward half if `is_train`, and as prediction otherwise.
        """
        self._run(self._network.backward[first:last], self._train and is_train)
        if last is None and not self.monitored:
            self._table = {}

    def array(self, entry: Entry) -> NDArray | None:
        """The array of a variable or of a result; None for what is not there."""
        return self._table.get(entry, self._bound.get(entry))

    def _value(self, entry: Entry) -> NDArray:
        found = self._table.get(entry)
        return self._bound[entry] if found is None else found

    def _run(self, nodes: Sequence[Node], is_train: bool) -> None:
        with modes(False, is_train):
            for node in nodes:
                assert node.op is not None
                inputs = [self._value(e) for e in node.inputs]
                number = self._places[node]
                state = self._bound.get(node.outputs()[-1])
                results = evaluate(node.op, inputs, is_train, state=state)
                for entry, result in zip(node.outputs(), results, strict=False):
                    target = self._bound.get(entry)
                    if target is result:
                        continue
                    if entry in self._network.open and entry in self._bound:
                        self._bound[entry] = result
                    elif target is not None:
                        self._deliver(entry, result, target)
                    elif entry in self._last or self.monitored:
                        self._table[entry] = result
                for entry in () if self.monitored else node.inputs:
                    if self._last[entry] == number:
                        self._table.pop(entry, None)

    def _deliver(self, entry: Entry, result: NDArray, target: NDArray) -> None:
        """Puts a result into an array of the caller's."""
        if entry in self._adds:
            same = result.stype == target.stype
            result = (result if same else result.tostype(DENSE)) + target
        if result.stype not in (DENSE, target.stype):
            result = result.tostype(DENSE)
        result.copyto(target)
