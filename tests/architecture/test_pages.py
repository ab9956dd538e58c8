"""Pages name what there is: links, files, commands and their keys, failure codes, blocks of code, names of packages."""

import dataclasses
import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from unlatch import command_table
from unlatch.configs.json_schema import task_schema
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.skills.catalog import SKILLS
from unlatch.workflows.runs import schema

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
OUTSIDE = [
    ROOT / name
    for name in (
        *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "THIRD_PARTY.md"),
        *("examples/README.md", "examples/notebooks/README.md", "examples/unlatch_plugin/README.md"),
    )
]
NOTES = sorted((ROOT / "benchmarks" / "notes").glob("*.md"))
every_page = pytest.mark.parametrize("page", [*OUTSIDE, *DOCS], ids=lambda page: page.stem)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(page: Path) -> set[str]:
    """Headings of a page, as hosts of repositories and the site name them."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", read(page), flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def dead_links(page: Path, text: str) -> list[str]:
    found = []
    for path, anchor in LINK.findall(text):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(f"{path}#{anchor}" if anchor else path)
    return found


@pytest.mark.parametrize("page", [*OUTSIDE, *DOCS, *NOTES], ids=lambda page: page.stem)
def test_links_lead_to_a_file_and_to_a_heading_where_they_name_one(page: Path):
    assert dead_links(page, read(page)) == []


def test_a_dead_link_is_found():
    text = "[a](docs/strat.md) [b](docs/start.md#instal) [c](docs/start.md#install) [d](#what-you-get) [e](https://x.y)"
    assert dead_links(ROOT / "README.md", text) == ["docs/strat.md", "docs/start.md#instal"]


FOLDERS = "benchmarks|configs|docs|examples|objects|robots|simcore|skills|solver|tasks|tests|unlatch|workflows"
PATHS = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)`")
OF_THE_READER = {"configs/robot/iiwa.urdf", "configs/robot/my_arm.png", "configs/robot/my_arm.yaml"}
"""Files in a folder `configs` of the reader's own."""


def test_files_that_pages_name_exist():
    """`NAME` in a path stands for any name."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
    named = {path for page in pages for path in PATHS.findall(read(page))}
    assert len(named) > 50
    assert {path for path in named if not list(ROOT.glob(path.replace("NAME", "*")))} == OF_THE_READER


COMMAND = re.compile(r"(?:^ *|`|&& |')unlatch ([a-z][\w-]*)((?: +(?:\\\n *)?[^`\n#]*)*)", re.MULTILINE)
KEY = re.compile(r"(?<![\w{,'\[.=])([a-z_]+)(?:\.[\w.]+)?=")
GROUPS = {"skill", "part", "openness", "launcher", "executor", "experiment"}
"""Words of the command line that are no keys of a dataclass."""


@cache
def known_keys(command: str) -> set[str]:
    """First words of the keys that a command takes: those of its help, and of configurations."""
    classes = [item for item in vars(schema).values() if dataclasses.is_dataclass(item)]
    fields = {field.name for item in classes for field in dataclasses.fields(item)}
    return {*re.findall(r"\b([a-z_]+)=", command_table.read_help(command)), *fields, *GROUPS}


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS], ids=lambda page: page.stem)
def test_commands_and_their_keys_exist(page: Path):
    for command, rest in COMMAND.findall(read(page)):
        assert command in command_table.COMMANDS, command
        assert [key for key in KEY.findall(rest) if key not in known_keys(command)] == [], (command, rest)


def test_a_command_that_does_not_exist_is_found():
    assert COMMAND.findall("    unlatch colect task=x\n")[0][0] not in command_table.COMMANDS
    assert "taks" not in known_keys("collect")


def test_the_page_of_commands_has_every_command():
    listed = re.findall(r"^\| `unlatch ([\w-]+)", read(ROOT / "docs" / "configuration.md"), re.MULTILINE)
    assert sorted(listed) == sorted(command_table.COMMANDS)


def test_every_failure_code_has_a_section_with_its_meaning_and_advice():
    text = read(ROOT / "docs" / "failures.md")
    sections = re.findall(r"^### (\w+)\n\n(.+)\n\n((?:(?!^#).*\n)+)", text, re.MULTILINE)
    assert [(code, meaning) for code, meaning, _ in sections] == list(FAILURE_CODES.items())
    assert [code for code, _, advice in sections if len(advice.split()) < 15] == []


def test_every_key_has_a_meaning_on_the_page_of_keys():
    spec = importlib.util.spec_from_file_location("key_page", ROOT / "docs" / "_site" / "key_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = re.findall(r"^\| `(.+?)` \|.*\| (.*) \|$", module.key_page(), re.MULTILINE)
    assert len(rows) > 300
    assert [key for key, meaning in rows if not meaning.strip()] == []


FENCE = re.compile(r"^ *```(\w*)$\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
NAMED_FILE = re.compile(r"# [\w./-]+\.yaml\n")
"""The line that names a block's file, as in `tests/e2e/test_readme.py`."""
LANGUAGES = {"bash", "python", "toml", "yaml", "sh", "text"}
"""The last two are not run: what needs a cluster, an installation or a file of the reader's; and what is printed."""


def indented(text: str) -> list[str]:
    """First lines of blocks that are code by their indent alone, outside of lists."""
    text = FENCE.sub("", text)
    return re.findall(r"(?:^|\n)(?![ ]*(?:[-*]|\d+\.) )[^\n ][^\n]*\n\n(    \S[^\n]*)", text)


def mistakes_in_tasks(text: str) -> list[str]:
    """What the schema says of YAML that is part of a task: of blocks that name no file of their own."""
    found = [body for language, body in FENCE.findall(text) if language == "yaml"]
    parts = [yaml.safe_load(body) for body in found if not NAMED_FILE.match(body.split("\n", 1)[1])]
    return [error.message for part in parts for error in validator().iter_errors(part)]


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(task_schema())


@every_page
def test_blocks_are_fenced_say_what_they_are_and_have_keys_that_exist(page: Path):
    text = read(page)
    assert indented(text) == []
    assert {language for language, _ in FENCE.findall(text)} <= LANGUAGES
    assert mistakes_in_tasks(text) == []


def test_what_is_wrong_with_a_block_is_found():
    assert indented("Like this:\n\n    unlatch collect\n\nand so on.") == ["    unlatch collect"]
    assert indented("1. Like this:\n\n    more of the item") == []
    (mistake,) = mistakes_in_tasks("```yaml\nskills:\n  - {name: open, objets: [drawer]}\n```\n")
    assert "objets" in mistake


BY_ITS_NAME = re.compile(
    r"""(?<![\w./-])unlatch\[\w  # 'unlatch[gym]'
    |\b(?:pip3?|uv|uvx|pipx)\ [^\n`&|;#]*?(?<![\w./@-])unlatch(?=['"\s\[=<>~!\\`]|$)  # pip install unlatch
    |pypi\.org/project/unlatch""",
    re.VERBOSE,
)
"""What asks pip for a package named `unlatch`: until it is on an index, that would be somebody else's."""


def test_no_text_installs_unlatch_by_its_name():
    folders = [*FOLDERS.replace("tests|", "").split("|"), ".ci", ".devcontainer", ".github"]
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    found, count = [], 0
    for path in files:
        if path.suffix not in (".pyc", ".so") and not any(part.endswith(".egg-info") for part in path.parts):
            text = path.read_bytes().decode("utf-8", "ignore")  # a picture has no such text
            found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in BY_ITS_NAME.finditer(text)]
            count += 1
    assert count > 500
    assert found == []


def test_ways_to_install_by_the_name_are_told_from_others():
    by_name = [
        "pip install 'unlatch[gym]'",
        "%pip install -q unlatch\\n",
        "uv add unlatch",
        "https://pypi.org/project/unlatch/",
    ]
    others = ["pip install -e . && unlatch doctor", "pip install -e '/home/ann/unlatch[gym]'", "pip installs `unlatch`"]
    assert all(map(BY_ITS_NAME.search, by_name))
    assert not any(map(BY_ITS_NAME.search, others))


OWN = {name for skill in SKILLS.own_names() for name in dir(SKILLS.load(skill)) if re.match("_[a-z]", name)}
"""Private names of our skills."""


def private_names(text: str) -> set[str]:
    """The names of private methods that a text defines, and of private attributes that it reads of its skill."""
    return {*re.findall(r"(?:self|super\(\))\.(_[a-z]\w*)", text), *re.findall(r"def (_[a-z]\w*)", text)}


@pytest.mark.parametrize("file", ["workflows/templates/skill.txt", "examples/unlatch_plugin/unlatch_press/press.py"])
def test_a_skill_to_begin_with_needs_public_methods_only(file: str):
    assert private_names(read(ROOT / file)) & OWN == set()
    assert private_names("super()._check_blocked()\ndef _find_loose_grip(self):") <= OWN  # they would be found
