"""The versions of Python that an installation accepts are those that the classifiers and the pages name."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
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


def test_a_release_is_installed_and_has_an_engine_for_every_stated_version(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import release_check

    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    (python,) = (step for step in jobs["build"]["steps"] if step.get("uses", "").startswith("actions/setup-python@"))
    assert python["with"]["python-version"].split() == STATED
    tags = [f"cp{version.replace('.', '')}" for version in release_check.WITHOUT_ENGINE]
    assert jobs["pybullet"]["strategy"]["matrix"]["python"] == [f"{tag}-{tag}" for tag in tags]
    assert list(release_check.WITHOUT_ENGINE) == STATED[-2:]


def test_hosted_checks_run_on_every_stated_version():
    workflow = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["checks"]["strategy"]["matrix"]["python"] == STATED
