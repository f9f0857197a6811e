"""An ONNX graph that is being written: its nodes, its constants, and the names of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..package import onnx_package

__all__ = ["DOMAIN", "OPSET", "Writer"]

OPSET = 17
"""The version of ONNX's operators that is written."""
IR_VERSION = 8
"""The version of the file's form that came with it, which older readers know, too."""
DOMAIN = ""
_SMALL = 1024
"""Bytes of a constant that is looked for among those there are."""


class Writer:
    """Collects what a graph consists of; names are unique in it."""

    def __init__(self) -> None:
        self.onnx = onnx_package()
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._taken: set[str] = set()
        self._small: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def unique(self, name: str) -> str:
        """`name`, with a number behind it where it is taken."""
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found

    def initializer(self, name: str, value: np.ndarray) -> str:
        """Enters a parameter under its own name."""
        self._taken.add(name)
        self.initializers.append(self.onnx.numpy_helper.from_array(value, name))
        return name

    def constant(self, value: np.ndarray, near: str) -> str:
        """Enters a constant; equal small ones are one."""
        key = (str(value.dtype), value.shape, value.tobytes() if value.nbytes <= _SMALL else b"")
        if value.nbytes <= _SMALL and key in self._small:
            return self._small[key]
        name = self.initializer(self.unique(f"{near}/const"), value)
        if value.nbytes <= _SMALL:
            self._small[key] = name
        return name

    def node(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], attrs: dict[str, Any]
    ) -> None:
        """Enters a node."""
        made = self.onnx.helper.make_node(
            kind, list(inputs), list(outputs), name=outputs[0], domain=DOMAIN, **attrs
        )
        self.nodes.append(made)

    def rename(self, first: int, old: str, new: str) -> bool:
        """Gives the value `old` of a node from number `first` on the name `new`, where there is
        such a node and the name is free."""
        if new in self._taken or not any(old in n.output for n in self.nodes[first:]):
            return False
        self._taken.add(new)
        for node in self.nodes[first:]:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    if name == old:
                        names[i] = new
            if node.name == old:
                node.name = new
        return True

    def model(self, inputs: Sequence[Any], outputs: Sequence[Any], name: str) -> Any:
        """The whole model."""
        helper = self.onnx.helper
        used = {i for n in self.nodes for i in n.input} | {o.name for o in outputs}
        kept = [i for i in self.initializers if i.name in used]
        graph = helper.make_graph(self.nodes, name, list(inputs), list(outputs), kept)
        opset = helper.make_operatorsetid(DOMAIN, OPSET)
        return helper.make_model(
            graph, producer_name="ferromix", opset_imports=[opset], ir_version=IR_VERSION
        )

    def element_type(self, dtype: str) -> int:
        """ONNX's number for an element type."""
        if dtype == "bfloat16":
            return self.onnx.TensorProto.BFLOAT16
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def value(self, name: str, dtype: str, shape: Sequence[int | str | None] | None) -> Any:
        """What a graph says about an input or an output."""
        return self.onnx.helper.make_tensor_value_info(name, self.element_type(dtype), shape)
