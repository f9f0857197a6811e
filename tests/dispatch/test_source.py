"""The loader of CUDA sources: what it finds, how it inlines headers, what it says if one lacks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ferromix.dispatch import source as module
from ferromix.dispatch.source import names, source
from ferromix.error import FileFormatError, InvalidArgumentError

ROOT = Path(__file__).resolve().parents[2]


def write(root: Path, files: dict[str, str]) -> Path:
    (root / "include").mkdir()
    for name, text in files.items():
        (root / name).write_text(text)
    return root


def test_the_sources_of_the_repository_are_found():
    stems = sorted(p.stem for p in (ROOT / "kernels").glob("*.cu"))
    assert names() == stems
    assert {"elemwise", "binary", "scalar"} <= set(stems)


@pytest.mark.parametrize("stem", names())
def test_texts_are_complete(stem):
    text = source(stem)
    assert not re.search(r'#\s*include\s+"', text)
    assert "#pragma once" not in text
    for line in (ROOT / "kernels" / f"{stem}.cu").read_text().splitlines():
        assert line in text or line.startswith("#include")


def test_headers_come_once_with_true_line_numbers(tmp_path):
    root = write(
        tmp_path,
        {
            "a.cu": '#include "b.cuh"\n#  include "c.cuh"\n#include <x.h>\nA\n',
            "include/b.cuh": '#pragma once\n#include "c.cuh"\nB\n',
            "include/c.cuh": "C",
        },
    )
    expected = [
        '#line 1 "a.cu"',
        '#line 1 "b.cuh"',
        "",
        '#line 1 "c.cuh"',
        "C",
        '#line 3 "b.cuh"',
        "B",
        '#line 2 "a.cu"',
        '#line 3 "a.cu"',
        "#include <x.h>",
        "A",
    ]
    assert source("a", root).splitlines() == expected


def test_an_unknown_source_lists_the_known(tmp_path):
    root = write(tmp_path, {"a.cu": "", "b.cu": "", "include/c.cuh": ""})
    assert names(root) == ["a", "b"]
    for stem in ("c", "../a", "", "a.cu"):
        with pytest.raises(InvalidArgumentError, match=r"no CUDA source .* there are: a, b"):
            source(stem, root)


@pytest.mark.parametrize("header", ["gone.cuh", "../a.cu", "include/b.cuh", ""])
def test_a_missing_header_is_named_with_its_place(tmp_path, header):
    root = write(tmp_path, {"a.cu": '#include "b.cuh"', "include/b.cuh": f'\n#include "{header}"'})
    with pytest.raises(FileFormatError, match=rf"b\.cuh, line 2: .*'{re.escape(header)}'"):
        source("a", root)


def test_a_cycle_is_shown(tmp_path):
    files = {
        "a.cu": '#include "b.cuh"',
        "include/b.cuh": '#include "c.cuh"',
        "include/c.cuh": '//\n#include "b.cuh"',
    }
    with pytest.raises(FileFormatError, match=r"c\.cuh, line 2: .*b\.cuh -> c\.cuh -> b\.cuh"):
        source("a", write(tmp_path, files))


@pytest.mark.parametrize("checkout", [False, True])
def test_an_installed_package_has_its_own_and_a_checkout_comes_first(
    tmp_path, monkeypatch, checkout
):
    package = tmp_path / "python" / "ferromix"
    for folder, text in ((package, "installed"), (tmp_path, "checkout")):
        (folder / "kernels").mkdir(parents=True)
        (folder / "kernels" / "a.cu").write_text(text)
    if checkout:
        (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(module, "files", lambda _: package)
    assert ("checkout" in source("a")) == checkout


def test_an_installation_without_sources_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "files", lambda _: tmp_path / "a" / "b")
    with pytest.raises(FileFormatError, match="CUDA sources are missing"):
        names()
