"""The JSON that MXNet's reader takes, and what MXNet 1.9.1 writes that is no strict JSON."""

from __future__ import annotations

import json

import pytest

import ferromix as mx
from ferromix.error import FileFormatError

LETTERS = 'ünï\x01\x08\x0c\x1f\x7f/"\\\t\n\r\u2028😀名'
WRITTEN = (  # By MXNet 1.9.1, of sin of a variable of this name.
    b'{\n  "nodes": [\n    {\n      "op": "null", \n      "name": "\xc3\xbcn\xc3\xaf\x01\x08\x0c'
    b'\x1f\x7f/\\"\\\\\\t\\n\\r\xe2\x80\xa8\xf0\x9f\x98\x80\xe5\x90\x8d", \n      "inputs": []'
    b'\n    }, \n    {\n      "op": "sin", \n'
    b'      "name": "s", \n      "inputs": [[0, 0, 0]]\n    }'
    b'\n  ], \n  "arg_nodes": [0], \n  "node_row_ptr": [0, 1, 2], \n  "heads": [[1, 0, 0]], \n'
    b'  "attrs": {"mxnet_version": ["int", 10901]}\n}'
)


def test_letters_are_written_as_mxnet_writes_them(tmp_path):
    mx.sym.sin(mx.sym.Variable(LETTERS), name="s").save(tmp_path / "s.json")
    assert (tmp_path / "s.json").read_bytes() == WRITTEN.replace(b", \n", b",\n")


def test_letters_are_read_as_mxnet_writes_them(tmp_path):
    (tmp_path / "s.json").write_bytes(WRITTEN)
    assert mx.sym.load(tmp_path / "s.json").list_arguments() == [LETTERS]
    assert mx.sym.load_json(WRITTEN.decode()).list_arguments() == [LETTERS]


def test_attributes_and_graphs_within_graphs_are_written_alike():
    _, states = mx.sym.contrib.foreach(
        lambda x, s: (x, [x + s[0]]),
        mx.sym.Variable("é\x02"),
        [mx.sym.Variable("ö", lr_mult="\x03")],
    )
    text = states[0].tojson()
    assert text.isprintable() is False
    assert "\\u" not in text
    assert mx.sym.load_json(text).tojson() == text
    assert json.loads(text, strict=False)["nodes"][0]["name"] == "é\x02"


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_what_mxnet_cannot_have_is_written_as_a_number(name, tmp_path):
    mx.sym.Variable(name).save(tmp_path / "s.json")
    assert f"\\u{ord(name[1]):04x}".encode() in (tmp_path / "s.json").read_bytes()
    assert mx.sym.load(tmp_path / "s.json").name == name


def test_bytes_that_are_no_text_are_an_error(tmp_path):
    (tmp_path / "s.json").write_bytes(WRITTEN.replace(b"\xc3\xbc", b"\xc3"))
    with pytest.raises(FileFormatError, match=r"s\.json: not JSON"):
        mx.sym.load(tmp_path / "s.json")
