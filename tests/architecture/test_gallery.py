"""The gallery shows every shipped task with a small clip, and the success rates of benchmarks/results.json."""

import json
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from unlatch.configs.group_files import own_option_names
from unlatch.robots.catalog import ROBOTS

ROOT = Path(__file__).parents[2]
MOST_BYTES, MOST_BYTES_IN_ALL = 70_000, 2_500_000


@pytest.fixture
def gallery(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import gallery

    return gallery


@pytest.fixture
def cards() -> dict[str, str]:
    """The entries of the page by task."""
    entries = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8").split("\n-   ![")[1:]
    return {entry.split("]")[0]: entry for entry in entries}


def test_every_shipped_task_has_a_card_with_its_clip(cards: dict[str, str]):
    assert list(cards) == own_option_names("task")
    for name, card in cards.items():
        assert f"(images/gallery/{name}.webp)" in card


def test_the_page_is_what_the_command_writes(gallery: ModuleType):
    assert gallery.main(["check=true"]) == 0, "Run: python benchmarks/gallery.py"


def test_a_changed_count_is_found(gallery: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import results_page

    entries = json.loads(results_page.RESULTS.read_text(encoding="utf-8"))["entries"]
    entry = next(e for e in entries if e["kind"] == "tasks" and e["n"] and not e["failed"])
    entry.update(failed=[0], shares=entry["shares"][1:])
    changed = tmp_path / "results.json"
    changed.write_text(json.dumps({"entries": entries}), encoding="utf-8")
    monkeypatch.setattr(results_page, "RESULTS", changed)
    assert gallery.main(["check=true"]) == 1


def test_the_readme_counts_the_tasks_and_robots_that_there_are():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"[{len(own_option_names('task'))} tasks](docs/gallery.md)" in text
    assert f"[{len(ROBOTS.own_names())} robots](docs/robots.md)" in text


def test_clips_move_and_are_small():
    clips = sorted((ROOT / "docs" / "images" / "gallery").glob("*.webp"))
    assert [clip.stem for clip in clips] == own_option_names("task")
    sizes = {clip.stem: clip.stat().st_size for clip in clips}
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}
    assert sum(sizes.values()) <= MOST_BYTES_IN_ALL
    for clip in clips:
        with Image.open(clip) as picture:
            assert picture.n_frames > 10, clip.stem
