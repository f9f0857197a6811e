"""docs/adding-an-operator.md fits the sources; `make guide` builds and tests what it makes."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def guide():
    spec = importlib.util.spec_from_file_location("guide", ROOT / "tools/guide.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["guide"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["guide"]


def test_every_block_has_its_place(guide):
    edits, commands = guide.read(guide.GUIDE.read_text())
    sources = guide.sources()
    before = dict(sources)
    for edit in edits:
        edit.apply(sources)
    changed = {name for name in sources if sources[name] != before.get(name)}
    assert changed == {edit.path for edit in edits}
    assert {Path(name).stem for name in changed} >= {"math", "average", "window"}
    assert commands[:2] == ["make dev", "make gen"]
    assert sum("pytest" in command for command in commands) >= 4


def test_every_mutant_breaks_what_the_guide_made(guide):
    sources = guide.sources()
    for edit in guide.read(guide.GUIDE.read_text())[0]:
        edit.apply(sources)
    for mutant in guide.mutants():
        broken = dict(sources)
        mutant.apply(broken)
        assert broken != sources, mutant.name


def test_a_block_goes_where_its_line_says(guide):
    text = (
        "New file `a.py`:\n\n```python\none = 1\n```\n\n"
        "In `b.rs`, after the line with `second`:\n\n```rust\n    third\n```\n\n"
        "At the end of `c.cu`:\n\n```cuda\nlast\n```\n\n"
        "Then:\n\n```sh\nmake dev\nmake dev\n```\n"
    )
    edits, commands = guide.read(text)
    sources = {"b.rs": "first\n    second\nfourth\n", "c.cu": "x\n"}
    for edit in edits:
        edit.apply(sources)
    assert sources == {
        "a.py": "one = 1\n",
        "b.rs": "first\n    second\n    third\nfourth\n",
        "c.cu": "x\nlast\n",
    }
    assert commands == ["make dev"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Somewhere:\n\n```python\nx\n```\n", "no place for the block below 'Somewhere:'"),
        ("Run:\n\n```sh\nrm -r /\n```\n", "unknown command 'rm -r /'"),
        ("New file `b.rs`:\n\n```rust\nx\n```\n", "b.rs is there already"),
        ("At the end of `z.rs`:\n\n```rust\nx\n```\n", "z.rs is absent"),
        ("In `b.rs`, after the line with `f`:\n\n```rust\nx\n```\n", "has 2 lines with 'f', not 1"),
    ],
)
def test_a_guide_that_does_not_fit_is_refused(guide, text, message):
    def follow():
        for edit in guide.read(text)[0]:
            edit.apply({"b.rs": "first\nfourth\n"})

    with pytest.raises(guide.GuideError, match=message):
        follow()
