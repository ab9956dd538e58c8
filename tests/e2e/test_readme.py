"""The code blocks of the README and of pages run, in order, in one folder: `bash` and `python`, not `sh` and `text`.

A `yaml` block is the file that its second line names; the first belongs to Hydra. A block whose first line is a comment
with a path is that file, in the repository where it has one. `pip install ./FOLDER` installs a page's own distribution
into its folder. `unlatch ... > FILE` keeps what is printed. A `yaml` block that names no file is part of a task: its
schema is asked about it (`tests/architecture/test_pages.py`).

To be quick, commands run in this process, collect in it where they name no workers, and draw no episode where they do
not say how many. Of the episodes that a command collects, the first ones are enough, up to the last one that the page
names; pages that need several say so in `SEVERAL`. Clips are short and small. What one page has collected, another one
that says the same is given as a copy. A sheet of several episodes and a clip of full size are what other files test.
Pages of `HEAVY` are long, or resemble a page that is not: continuous integration leaves them out.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.e2e.quick_pip import pip_environment
from tests.e2e.running import ROOT, Commands
from unlatch.workflows.commands import looking
from unlatch.workflows.viewing import clip, phase_sheet, report_examples

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml|yaml))\n")
FILES = ("python", "toml", "yaml")
OUTS = ("out=", "sweep_dir=")
EPISODES = re.compile(r"(episodes|successes)=(\d+)")
NAMED_EPISODE = re.compile(r"(?:\bepisode=|\bonly=\[|\bdata\[|:)(\d+)")
SEVERAL = ("shard=", "workers=", "unlatch evaluate", "unlatch report")
"""Text of commands that one episode would not show at work: shards, workers, shares of successes."""

SERIAL = ("collect", "evaluate", "render")
"""Commands that start workers where they are not told otherwise."""


def blocks(path: Path) -> list[tuple[str, str]]:
    return [(kind, textwrap.dedent(text)) for kind, text in BLOCK.findall(path.read_text(encoding="utf-8"))]


PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if any(language in ("bash", *FILES) for language, _ in blocks(path))
]
HEAVY = {
    "docs/any_urdf.md",
    "docs/configuration.md",
    "docs/export.md",
    "docs/failures.md",
    "docs/images.md",
    "docs/index.md",  # commands of docs/start.md
    "docs/learning.md",
    "docs/planner_settings.md",
    "docs/policies.md",
    "docs/skills.md",
    "examples/README.md",
}


def data_set_key(words: Iterable[str]) -> tuple[str, ...]:
    """Returns what a command says besides its folder and its number of episodes."""
    return tuple(sorted(word for word in words if not word.startswith(OUTS) and not EPISODES.fullmatch(word)))


def collections(page: str) -> Iterator[list[str]]:
    """Yields the words of the commands of a page that collect."""
    for language, text in blocks(ROOT / page):
        if language == "bash":
            lines = (line for line in text.splitlines() if line.startswith("unlatch collect "))
            yield from (shlex.split(line, comments=True) for line in lines)


@cache
def needed_episodes() -> dict[tuple[str, ...], int]:
    """Returns, by `data_set_key`, the number of episodes that the pages with this command need."""
    found: dict[tuple[str, ...], int] = {}
    for page in PAGES:
        texts = [text for language, text in blocks(ROOT / page) if language in ("bash", "python")]
        named = [int(number) for text in texts for number in NAMED_EPISODE.findall(text)]
        least = 2 if any(word in text for text in texts for word in SEVERAL) else 1
        for key in map(data_set_key, collections(page)):
            found[key] = max(found.get(key, 1), least, *(number + 1 for number in named))
    return found


@cache
def shared_commands() -> set[tuple[str, ...]]:
    """Returns the `data_set_key` of what several pages collect whole, and from no file of a page."""
    pages = Counter(key for page in PAGES for key in set(map(data_set_key, collections(page))))
    own = ("--config-dir", "shard=")
    return {key for key, n in pages.items() if n > 1 and not any(word.startswith(own) for word in key)}


def with_needed_episodes(words: list[str]) -> list[str]:
    """Returns a command that collects no more episodes than the pages need."""
    most = needed_episodes().get(data_set_key(words))
    if most is None:
        return words
    return [f"{found[1]}={min(int(found[2]), most)}" if (found := EPISODES.fullmatch(word)) else word for word in words]


@pytest.fixture(scope="module", autouse=True)
def small_pictures() -> Iterator[None]:
    """Without a graphics card, pixels take time: a clip of full size and length takes 8 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clip, "MOST_CLIP_FRAMES", 4)
        patch.setattr(clip, "CLIP_PX", (160, 128))
        patch.setattr(looking, "PICTURE_SIZE", (320, 240))
        for module in (phase_sheet, report_examples):
            patch.setattr(module, "OVERSAMPLED", 1)
        yield


def command_of(line: str) -> list[str]:
    words = with_needed_episodes(shlex.split(line, comments=True))
    if "--cfg" in words or words[:2] not in [["unlatch", name] for name in SERIAL]:
        return words
    if "-m" not in words and not any(word.startswith(("workers=", "executor=")) for word in words):
        words.append("executor=serial")
    if words[1] != "render" and not any(word.startswith(("pictures=", "experiment=")) for word in words):
        words.append("pictures=0")  # to draw an episode takes longer than to make it
    return words


def data_set_of(line: str) -> str | None:
    """Returns where a line collects what another page collects, too."""
    words = shlex.split(line, comments=True)
    outs = [word.partition("=")[2] for word in words if word.startswith(OUTS)]
    return outs[0] if outs and data_set_key(words) in shared_commands() else None


def install(folder: Path, distributions: list[str]) -> None:
    """Into the folder of the page, which comes first on the path."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *distributions]
    done = subprocess.run(command, cwd=folder, env=pip_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commands_of(pages: Iterable[str]) -> set[str]:
    """The commands of Unlatch that the `bash` blocks of pages run."""
    texts = [text for page in pages for language, text in blocks(ROOT / page) if language == "bash"]
    words = [shlex.split(line, comments=True) for text in texts for line in text.strip().splitlines()]
    return {argv[1] for argv in words if argv[0] == "unlatch"}


def test_every_command_of_a_page_is_run_by_a_page_that_is_not_heavy():
    light = set(PAGES) - HEAVY
    assert len(light) + len(HEAVY) == len(PAGES)  # each heavy one is a page
    assert commands_of(HEAVY) <= commands_of(light)


@pytest.fixture
def run(commands: Commands, tmp_path: Path, made_once: Callable[..., Path]) -> Callable[[str], None]:
    """Runs one line of a page, or a block of Python, in the folder of the page."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    def run_in(folder: Path, argv: list[str]) -> str:
        done = commands.run(argv, folder)
        assert done.returncode == 0, f"{shlex.join(argv)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_line(line: str) -> None:
        argv = command_of(line)
        if argv[:2] == ["pip", "install"]:
            install(tmp_path, [word for word in argv[2:] if word != "-e"])  # `--target` knows no editable ones
        elif out := data_set_of(line):
            words = [f"{word.partition('=')[0]}=set" if word.startswith(OUTS) else word for word in argv]
            made = made_once(f"page {sorted(words)}", lambda folder: run_in(folder, words))
            shutil.copytree(made / "set", tmp_path / out, dirs_exist_ok=True)
        elif argv[-2:-1] == [">"]:
            (tmp_path / argv[-1]).write_text(run_in(tmp_path, argv[:-2]), encoding="utf-8")
        else:
            run_in(tmp_path, argv)

    return run_line


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.heavy if page in HEAVY else ()) for page in PAGES]
)
def test_code_blocks_run(page: str, tmp_path: Path, run: Callable[[str], None]):
    for language, text in blocks(ROOT / page):
        named = FILE.match(text.split("\n", 1)[1] if language == "yaml" else text) if language in FILES else None
        if named and (ROOT / named[1]).is_file():
            assert text == (ROOT / named[1]).read_text(encoding="utf-8"), named[1]
        elif named:
            file = tmp_path / named[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif language == "bash":
            for line in text.strip().splitlines():
                run(line)
        elif language == "python":
            run(shlex.join(["python", "-c", text]))


def test_as_many_episodes_are_collected_as_the_pages_need():
    microwaves = "unlatch collect task=open_microwave seed=7 out=data/microwave"
    assert "episodes=4" in command_of(f"{microwaves} episodes=4")  # `view data/microwave episode=3`
    door = "unlatch collect object=examples/objects/sliding_door.urdf skill=open out=a"
    assert "episodes=1" in command_of(f"{door} episodes=2")
    assert "episodes=2" in command_of("unlatch collect task=close_drawer episodes=4 shard=2/2 pictures=0 out=b")
    assert "episodes=9" in command_of("unlatch collect task=close_drawer episodes=9 words=of no=page")


def test_a_command_that_fails_is_found(tmp_path: Path, commands: Commands):
    done = commands.run(["unlatch", "colect"], tmp_path)
    assert (done.returncode, "Did you mean 'collect'" in done.stderr) == (2, True)
    done = commands.run(["python", "-c", "import missing_module"], tmp_path)
    assert (done.returncode, "ModuleNotFoundError" in done.stderr) == (1, True)
