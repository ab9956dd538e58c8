"""The pages have the figures of benchmarks/results.json, and the counts of an entry come back as they were."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import results_page

    return results_page


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import success_runs

    return success_runs


def result_of(runs: ModuleType, robot: str = "franka_panda", skill: str = "open"):
    """Ten episodes: 0 to 4 start ajar; 1 and 8 fail, 8 for want of a layout; 7 and 8 have no plan for the first one."""
    succeeded = {0, 2, 3, 4, 5, 6, 7, 9}
    return runs.Result(
        runs.Job("library", "safe", skill, "safe", robot=robot),
        n=10,
        succeeded=succeeded,
        ajar={0, 1, 2, 3, 4},
        first={0, 1, 2, 3, 4, 5, 6, 9},
        without_search={0, 2, 3, 4, 5, 6, 9},
        planned=set(range(10)) - {8},
        codes=Counter(slipped=1, invalid_layout=1),
        refusals={8: "too far"},
        shares={i: 0.95 if i == 9 else 0.6 for i in succeeded},
        executed=8,
        contact_valid=8,
    )


def test_pages_have_the_figures_of_the_counts(page: ModuleType):
    assert page.main(["check=true"]) == 0, "Run: python benchmarks/results_page.py"


def test_a_changed_figure_is_found(page: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    entries = json.loads(page.RESULTS.read_text())["entries"]
    entry = next(item for item in entries if item["n"] and not item["failed"] and item["seed_is"] == "fresh")
    entry.update(failed=[0], shares=entry["shares"][1:])
    changed = tmp_path / "results.json"
    changed.write_text(json.dumps({"entries": entries}))
    monkeypatch.setattr(page, "RESULTS", changed)
    assert page.main(["check=true"]) == 1


def test_counts_of_an_entry_come_back_from_the_file(runs: ModuleType, tmp_path: Path):
    result = result_of(runs)
    runs.write_results(tmp_path / "r.json", [result.to_entry(runs.RunCfg(seed=3), "abc")])
    (entry,) = runs.read_results(tmp_path / "r.json")
    assert (entry["seed"], entry["seed_is"], entry["commit"]) == (3, "fresh", "abc")
    assert runs.Result.from_entry(entry, result.job) == result


def test_closed_and_ajar_search_and_refusals_are_counted_apart(
    page: ModuleType, runs: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fresh, development = runs.RunCfg(seed=3), runs.RunCfg(seed=1, seed_is=runs.Seed.development)
    baxter = result_of(runs, robot="baxter", skill="close")
    baxter.without_search = None
    entries = [result_of(runs).to_entry(fresh, "abc"), baxter.to_entry(fresh, "abc")]
    runs.write_results(tmp_path / "r.json", [*entries, result_of(runs).to_entry(development, "abc")])
    monkeypatch.setattr(page, "RESULTS", tmp_path / "r.json")
    _, _, closed, ajar, other = (line.split(" | ") for line in page.table_of("library"))
    assert closed[0:3] == ["| Panda", "open, from closed", "1"]
    assert closed[3].startswith("4/5 = 80.0 % (")
    assert closed[-1].startswith("4/5")
    assert closed[4:9] == ["3/5", "3/5", "1", "", "69 %"]  # `open` does not lead a part to its end
    assert ajar[3].startswith("4/5")
    assert ajar[4:9] == ["5/5", "4/5", "0", "", "60 %"]
    assert other[0:2] == ["| Baxter", "close"]
    assert other[3].startswith("8/10")
    assert other[4:9] == ["8/10", "not measured", "1", "1/10", "64 %"]
    assert page.lowest_entries("library")[2] == "| Panda | `safe open` | 8/10 | slipped 1, invalid_layout 1 |"
