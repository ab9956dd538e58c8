"""The pages have the figures of benchmarks/results.json, and the counts of an entry come back as they were."""

import json
import re
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


def test_counts_of_an_entry_come_back_from_the_file(runs: ModuleType, tmp_path: Path):
    result = result_of(runs)
    result.made_with = {"version": "1", "commit": "abc", "fingerprint": "f"}
    runs.write_results(tmp_path / "r.json", [result.to_entry(runs.RunCfg(seed=3))])
    (entry,) = runs.read_results(tmp_path / "r.json")
    assert (entry["seed"], entry["seed_is"], entry["commit"]) == (3, "fresh", "abc")
    again = runs.Result.from_entry(entry, result.job)
    assert (again, again.made_with) == (result, result.made_with)


def test_closed_and_ajar_search_and_refusals_are_counted_apart(
    page: ModuleType, runs: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    fresh, development = runs.RunCfg(seed=3), runs.RunCfg(seed=1, seed_is=runs.Seed.development)
    baxter = result_of(runs, robot="baxter", skill="close")
    baxter.without_search = None
    entries = [result_of(runs).to_entry(fresh), baxter.to_entry(fresh)]
    for entry in (*entries, last := result_of(runs).to_entry(development)):
        entry["commit"] = "abc"
    runs.write_results(tmp_path / "r.json", [*entries, last])
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


SUMMARY = re.compile(r"<!-- results: summary -->(.*?)<!-- end", re.DOTALL)


@pytest.fixture
def older(page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page after a change of the physics: no row has the present fingerprint."""
    monkeypatch.setattr(page.fingerprint, "present_fingerprints", lambda: {"0123456789ab"})
    return page


def test_after_a_change_of_the_physics_the_readme_marks_every_row_as_older(older: ModuleType):
    (table,) = SUMMARY.findall(older.with_tables((older.ROOT / "README.md").read_text()))
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and "95 %" not in line]
    assert len(rows) == 8
    assert {row[3] for row in rows} == {"older"}
    assert "before the last change of behaviour" in table


def test_a_row_of_the_present_physics_is_marked_as_present(page: ModuleType, monkeypatch: pytest.MonkeyPatch):
    found = {"fingerprint": sorted(page.fingerprint.present_fingerprints())[0]}
    assert page.fingerprint.age_of([found]) == "present"
    assert page.fingerprint.age_of([found, {"commit": "abc"}]) == "older"


def test_rows_of_the_present_physics_replace_older_ones_of_the_same_kind_and_robot(
    page: ModuleType, runs: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    then, now = result_of(runs), result_of(runs)
    now.made_with = {"version": "1", "commit": "new", "fingerprint": sorted(page.fingerprint.present_fingerprints())[0]}
    then.made_with = {"commit": "old"}
    entries = [then.to_entry(runs.RunCfg(seed=3)), now.to_entry(runs.RunCfg(seed=4))]
    runs.write_results(tmp_path / "r.json", entries)
    monkeypatch.setattr(page, "RESULTS", tmp_path / "r.json")
    assert [entry["commit"] for entry in page.read_entries()] == ["new"]


def test_the_seed_of_a_fresh_evaluation_of_a_policy_is_used_for_nothing_else():
    rows = [json.loads(line) for line in (BENCHMARKS / "learning_results.jsonl").read_text().splitlines()]
    fresh = {(row["training"], row["seed"]) for row in rows if row.get("seed_is") == "fresh"}
    other_seeds = {row["seed"] for row in rows if row.get("seed_is") != "fresh"} | {778001, 778002, 778003}
    assert not {seed for _, seed in fresh} & other_seeds
    assert len(fresh) == len({training for training, _ in fresh})


def test_the_rows_of_policies_in_the_readme_name_the_same_tasks(page: ModuleType):
    tables = page.learning_tables
    tasks = {study: {tables.task_of(row) for row in tables.read_evaluations(study)} for study in POLICY_STUDIES}
    assert len(set(map(frozenset, tasks.values()))) == 1, tasks


POLICY_STUDIES = ("one_policy", "images_one_policy")


def test_every_step_of_make_results_has_a_benchmark_and_the_wrong_name_of_a_step_is_refused(
    page: ModuleType, capsys: pytest.CaptureFixture[str]
):
    import make_results

    assert all((BENCHMARKS / step.script).exists() for step in make_results.STEPS)
    assert make_results.main(["list=true", "size=0.5"]) == 0
    assert "on two cores if nothing is there yet" in capsys.readouterr().out
    with pytest.raises(make_results.ConfigError, match="Did you mean 'tasks'"):
        make_results.main(["only=taskz"])
