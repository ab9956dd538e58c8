"""No text asks pip for a package named `unlatch`: until it is on an index, that would be somebody else's."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "configs",
    "docs",
    "examples",
    "objects",
    "robots",
    "simcore",
    "skills",
    "solver",
    "tasks",
    "unlatch",
    "workflows",
)
FOLDERS += ("benchmarks", ".ci", ".devcontainer", ".github")
BAD = re.compile(
    r"""(?<![\w./-])unlatch\[\w  # 'unlatch[gym]'
    |\b(?:pip3?|uv|uvx|pipx)\ [^\n`&|;#]*?(?<![\w./@-])unlatch(?=['"\s\[=<>~!\\`]|$)  # pip install unlatch
    |pypi\.org/project/unlatch""",
    re.VERBOSE,
)


def shipped_texts():
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in files:
        if path.suffix not in (".pyc", ".so") and not any(part.endswith(".egg-info") for part in path.parts):
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # a picture


def test_no_text_installs_unlatch_by_its_name():
    texts = list(shipped_texts())
    assert len(texts) > 500
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path, text in texts for match in BAD.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "pip install 'unlatch[gym]'",
        "%pip install --quiet unlatch\\n",
        "pip install unlatch",
        'pip install "unlatch>=0.2"',
        "uv add unlatch",
        "uvx unlatch doctor",
        "https://pypi.org/project/unlatch/",
    ],
)
def test_bad_forms_are_found(text):
    assert BAD.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install -e . && unlatch doctor",
        "pip install ./examples/unlatch_plugin",
        "pip install -e '.[gym]'",
        "pip install -e '/home/ann/unlatch[gym]'",
        "pip installs one package, `unlatch`: write",
    ],
)
def test_good_forms_are_not(text):
    assert not BAD.search(text)
