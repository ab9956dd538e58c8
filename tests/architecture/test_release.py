"""The checklist of a release names the steps of the script, and all name the versions of Python that we state."""

import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import release_check

    return release_check


def test_the_page_lists_every_step_in_its_order(release: ModuleType):
    steps, manual = release.read_checklist(release.PAGE.read_text(encoding="utf-8"))
    assert steps == list(release.STEPS)
    assert len(manual) > 5
    assert any("git tag" in item for item in manual)


def test_steps_run_in_order_and_what_remains_is_printed(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    called: list[str] = []
    for name in release.STEPS:
        monkeypatch.setitem(release.STEPS, name, lambda name=name: called.append(name) or [f"look at {name}"])
    assert release.main([]) == 0
    assert called == list(release.STEPS)
    said = capsys.readouterr().out
    assert "[ ] look at sbom" in said
    assert "[ ] Approve the environment `pypi` of the run." in said


def test_a_step_that_fails_ends_the_check(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(release, "read_version", lambda: "9.9.9")
    monkeypatch.setitem(release.STEPS, "sbom", lambda: pytest.fail("this step must not run"))
    assert release.main(["version", "sbom"]) == 1
    assert "CITATION.cff has version 0.2.0, pyproject.toml 9.9.9" in capsys.readouterr().err
    assert release.main(["metadata"]) == 1
    assert "Run 'build'" in capsys.readouterr().err
    assert release.main(["biuld"]) == 2
    assert "Steps: version, build" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sections", "remains"),
    [
        ("## Unreleased\n\n## 1.2.0 - 2026-01-01\n\n- a change\n", ""),
        ("## 1.2.0 - 2026-01-01\n\n- a change\n", ""),
        ("## Unreleased\n\n- a change\n\n## 1.2.0 - 2026-01-01\n", "has entries under 'Unreleased' beside '## 1.2.0'"),
        ("## Unreleased\n\n- a change\n", "has no section '## 1.2.0'"),
    ],
)
def test_changes_that_no_section_of_the_version_names_remain_to_be_moved(
    sections: str, remains: str, release: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "read_version", lambda: "1.2.0")
    monkeypatch.setattr(release, "run", lambda *command: "")
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{sections}")
    assert [remains in item for item in release.check_version()] == ([True] if remains else [])


def test_an_interpreter_of_another_version_is_not_taken(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    shim = tmp_path / "python3.10"
    shim.write_text("#!/bin/sh\necho 3.12\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert release.find_python("3.10") is None
    shim.write_text("#!/bin/sh\necho 3.10\n")
    assert release.find_python("3.10") == shim


def test_the_workflow_publishes_without_a_token_and_signs_provenance():
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    publish = workflow["jobs"]["publish"]
    assert publish["permissions"]["id-token"] == publish["permissions"]["attestations"] == "write"
    used = [step.get("uses", "").partition("@")[0] for step in publish["steps"]]
    assert used.index("actions/attest-build-provenance") < used.index("pypa/gh-action-pypi-publish")
    assert "password" not in str(publish)


TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
STATED = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', TEXT)
"""In the order of the versions."""


def accepted(requirement: str) -> list[str]:
    return [f"3.{minor}" for minor in range(30) if f"3.{minor}.1" in SpecifierSet(requirement)]


@pytest.mark.parametrize(
    "file", ["pyproject.toml", "examples/unlatch_plugin/pyproject.toml", "workflows/templates/pyproject.txt"]
)
def test_an_installation_accepts_the_stated_versions_only(file: str):
    (requirement,) = re.findall(r'^requires-python = "(.*)"', (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert accepted(requirement) == STATED == ["3.10", "3.11", "3.12", "3.13"]


@pytest.mark.parametrize("page", ["README.md", "docs/start.md", "docs/limits.md"])
def test_a_page_names_the_versions(page: str):
    words = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    listed = ", ".join(map(re.escape, STATED[:-1]))
    assert re.search(rf"Python {listed} (or|and) {re.escape(STATED[-1])}", words)


def test_a_release_is_installed_and_has_an_engine_for_every_stated_version(release: ModuleType):
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    (python,) = (step for step in jobs["build"]["steps"] if step.get("uses", "").startswith("actions/setup-python@"))
    assert python["with"]["python-version"].split() == STATED
    tags = [f"cp{version.replace('.', '')}" for version in release.WITHOUT_ENGINE]
    assert jobs["pybullet"]["strategy"]["matrix"]["python"] == [f"{tag}-{tag}" for tag in tags]
    assert list(release.WITHOUT_ENGINE) == STATED[-2:]


def test_hosted_checks_run_the_suite_on_one_version_and_smoke_tests_on_the_others():
    jobs = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))["jobs"]
    whole = [step["with"]["python-version"] for step in jobs["checks"]["steps"] if "with" in step]
    assert sorted([*whole, *jobs["smoke"]["strategy"]["matrix"]["python"]]) == STATED
