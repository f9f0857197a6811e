"""The memory plan as text and as drawings."""

from __future__ import annotations

import builtins
import xml.etree.ElementTree as ElementTree

import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import InvalidArgumentError


def plan():
    x = S.exp(S.Variable("x"), name="a<b")
    x = S.Flatten(S.FullyConnected(x, num_hidden=8, name="fc"), name="flat")
    return S.sin(x, name="s").simple_bind(mx.cpu(), x=(4, 8)).memory_plan()


def test_text_says_what_is_where_and_when():
    text = str(plan())
    lines = text.splitlines()
    assert lines[0].split() == ["result", "bytes", "steps", "place"]
    (row,) = [line for line in lines if line.startswith("flat_output")]
    assert "view of fc_output" in row
    assert "128" in row
    assert "in outputs" in lines[-1]


def test_spans_are_within_their_buffers_and_apart():
    net = S.Variable("x")
    for i in range(6):
        net = S.Activation(S.FullyConnected(net, num_hidden=4 + i, name=f"f{i}"), act_type="tanh")
    found = net.simple_bind(mx.cpu(), x=(8, 5)).memory_plan()
    placed = [s for s in found.spans if s.buffer is not None]
    assert placed
    for span in placed:
        assert 0 <= span.offset <= found.buffers[span.buffer] - span.size
        assert 0 <= span.first <= span.last < len(found.steps)
    for i, a in enumerate(placed):
        for b in placed[i + 1 :]:
            meet = a.offset < b.offset + b.size and b.offset < a.offset + a.size
            # Where one takes the other's place they meet in the step that does so.
            at_once = a.first < b.last and b.first < a.last
            assert a.buffer != b.buffer or not meet or not at_once


def test_svg(tmp_path):
    path = tmp_path / "plan.svg"
    found = plan()
    found.draw(path)
    root = ElementTree.parse(path).getroot()
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(t.startswith("a<b_output: 128 bytes") for t in titles)
    assert len(titles) == sum(s.buffer is not None and "view" not in s.note for s in found.spans)


def test_png_needs_matplotlib(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install ferromix\[plot\]"):
        plan().draw(tmp_path / "plan.png")
    with pytest.raises(InvalidArgumentError, match=r"svg or \.png"):
        plan().draw(tmp_path / "plan.pdf")


def test_a_graph_without_results_is_drawn(tmp_path):
    executor = S.identity(S.Variable("x")).simple_bind(mx.cpu(), "null", x=(2,))
    executor.memory_plan().draw(tmp_path / "plan.svg")
    assert "0 MB in 0 buffers" in (tmp_path / "plan.svg").read_text()
