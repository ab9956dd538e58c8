"""The code blocks of the README and of pages run, in order, in one folder: `bash` and `python`, not `sh` and `text`.

A `yaml` block is the file that its second line names; the first belongs to Hydra. A block whose first line is a comment
with a path is that file. `pip install ./FOLDER` installs a page's own distribution into its folder. What one page has
collected, another one that says the same is given as a copy.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml|yaml))\n")


def blocks(path: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(path.read_text(encoding="utf-8"))


PAGES = [
    "README.md",
    "examples/README.md",
    "docs/annotators.md",
    "docs/configuration.md",
    "docs/policies.md",
    "docs/episode.md",
    "docs/export.md",
    "docs/randomization.md",
    "docs/planner_settings.md",
    "docs/failures.md",
    "docs/report.md",
    "docs/solver.md",
    "docs/start.md",
    "docs/sweeps.md",
    "docs/tasks.md",
    *(f"docs/howto/{path.name}" for path in sorted((ROOT / "docs" / "howto").glob("*.md"))),
    *(f"docs/skills/{path.name}" for path in sorted((ROOT / "docs" / "skills").glob("*.md"))),
]


@pytest.fixture(scope="module")
def collected() -> dict[tuple[str, ...], Path]:
    """Folders of data sets by the command that made them."""
    return {}


def command_of(line: str, folder: Path) -> list[str]:
    """A line of a page; what it installs goes into the folder that it is run in, which comes first on the path."""
    words = shlex.split(line)
    if words[:2] == ["pip", "install"]:
        return [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *words[2:]]
    return [sys.executable, *{"unlatch": ["-m", "unlatch"], "python": []}[words[0]], *words[1:]]


def data_set_of(command: list[str]) -> str | None:
    """Where a command collects what depends on it alone, and on no file of its page."""
    outs = [word.removeprefix("out=") for word in command if word.startswith("out=")]
    alone = "collect" in command and "--config-dir" not in command and not any("from=" in word for word in command)
    return outs[0] if outs and alone else None


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_run(page: str, tmp_path: Path, collected: dict[tuple[str, ...], Path]):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = 0
    for language, text in blocks(ROOT / page):
        commands: list[list[str]] = []
        named = FILE.match(text.split("\n", 1)[1] if language == "yaml" else text)
        if language in ("python", "toml", "yaml") and named:
            file = tmp_path / named[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif language == "bash":
            commands = [command_of(line, tmp_path) for line in text.strip().splitlines()]
        elif language == "python":
            commands.append([sys.executable, "-c", text])
        for command in commands:
            out = data_set_of(command)
            if out and (made := collected.setdefault(tuple(command), tmp_path / out)) != tmp_path / out:
                shutil.copytree(made, tmp_path / out)
                continue
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            ran += 1
    assert ran


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if not target.startswith("http")]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
