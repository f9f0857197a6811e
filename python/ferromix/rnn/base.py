"""What recurrent cells have in common: parameters, states, and unrolling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from .. import symbol
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from ..symbol import Symbol

__all__ = ["BaseRNNCell", "RNNParams", "normalized"]

Info = list[dict[str, Any]]


class RNNParams:
    """Variables by name, so that cells which share them share parameters.

    Parameters
    ----------
    prefix
        The beginning of all names.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable of a name, made with these arguments at first use."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """A step of a recurrent network: from an input and states to an output and states.

    Parameters
    ----------
    prefix
        The beginning of the names of variables and results.
    params
        Variables to share; new ones where None.
    """

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Counts steps and states anew, before another graph is made of the cell."""
        self._init_counter = -1
        self._counter = -1

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step: the output, and the states after it."""
        raise NotImplementedError

    @property
    def params(self) -> RNNParams:
        """The variables of the cell."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> Info:
        """Shape and layout of each state; the batch has the extent 0, which is not known."""
        raise NotImplementedError

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Sequence[str]:
        """What the parts of a weight are called, in their order."""
        return ()

    def begin_state(
        self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """The first states.

        Parameters
        ----------
        func
            Makes a symbol, such as ``mx.sym.zeros`` or ``mx.sym.Variable``.
        **kwargs
            More arguments for it.
        """
        if self._modified:
            raise InvalidArgumentError(
                "begin_state: another cell modifies this one; call its begin_state"
            )
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **(kwargs | info)))
        return states

    def unpack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """Parameters by name with those of each gate by themselves, ``lstm_i2h_i_weight``."""
        found = dict(args)
        size = getattr(self, "_num_hidden", 0)
        for kind in ("weight", "bias") if self._gate_names else ():
            for group in ("i2h", "h2h"):
                whole = found.pop(f"{self._prefix}{group}_{kind}")
                for i, gate in enumerate(self._gate_names):
                    part = whole[i * size : (i + 1) * size].copy()
                    found[f"{self._prefix}{group}{gate}_{kind}"] = part
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> dict[str, NDArray]:
        """The reverse of :meth:`unpack_weights`."""
        found = dict(args)
        for kind in ("weight", "bias") if self._gate_names else ():
            for group in ("i2h", "h2h"):
                names = [f"{self._prefix}{group}{gate}_{kind}" for gate in self._gate_names]
                parts = [found.pop(name) for name in names]
                found[f"{self._prefix}{group}_{kind}"] = nd.concatenate(parts)
        return found

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Symbol]]:
        """The graph of some steps.

        Parameters
        ----------
        length
            How many steps.
        inputs
            One symbol of the layout, or one for each step.
        begin_state
            The first states; by default :meth:`begin_state`.
        layout
            ``"NTC"`` or ``"TNC"``: where batch, time and channels are.
        merge_outputs
            Whether outputs are one symbol, or a list; None takes them as they come.

        Returns
        -------
        tuple
            Outputs, and the states after the last step.
        """
        self.reset()
        steps, _ = normalized(length, inputs, layout, False)
        states = list(begin_state) if begin_state is not None else self.begin_state()
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        merged, _ = normalized(length, outputs, layout, merge_outputs)
        return merged, states

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Symbol:
        """A function by its name, or applied."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


def normalized(
    length: int, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int]:
    """Inputs as one symbol, or as one for each step; and the axis of time.

    Parameters
    ----------
    length
        How many steps there are.
    inputs
        One symbol, or a list.
    layout
        The layout wanted.
    merge
        Whether one symbol is wanted; None takes what comes.
    in_layout
        The layout of `inputs`, if it is another one.

    Raises
    ------
    InvalidArgumentError
        A symbol with several outputs, or a list of another length.
    """
    axis = layout.find("T")
    in_axis = (in_layout or layout).find("T")
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs.list_outputs()) != 1:
                raise InvalidArgumentError(
                    "unroll: inputs must be one symbol with one output, or a list of symbols"
                )
            cut = symbol.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=True)
            inputs = list(cut) if length > 1 else [cut]
    else:
        if length is not None and len(inputs) != length:
            raise InvalidArgumentError(f"unroll: {len(inputs)} inputs for {length} steps")
        if merge is True:
            wide = [symbol.expand_dims(one, axis=axis) for one in inputs]
            inputs = symbol.Concat(*wide, dim=axis)
            in_axis = axis
    if isinstance(inputs, Symbol) and axis != in_axis:
        inputs = symbol.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis
