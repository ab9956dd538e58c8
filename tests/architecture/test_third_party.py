"""Every package that Unlatch may need stands in THIRD_PARTY.md, with the licence that its metadata states."""

import importlib.metadata
import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| ([\w.-]+) \|(?: `(\w+)` \|)? ([^|]+) \|", re.MULTILINE)


def needed() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(line for name, lines in extras.items() if name != "dev" for line in lines)]
    return {re.split(r"[<>=\[;, ]", line)[0] for line in named}


UNCOMMON = re.compile(
    r"GPL|General Public|MPL|Mozilla|Proprietary|Commercial|mosek|CDDL|EPL|CC-BY|CC BY", re.IGNORECASE
)


def brought_along() -> set[str]:
    """What installed packages of ours need, and what that needs, by its own name."""
    seen: set[str] = set()
    queue = sorted(needed())
    while queue:
        name = queue.pop()
        if not is_installed(name) or (own := importlib.metadata.metadata(name)["Name"]) in seen:
            continue
        seen.add(own)
        lines = importlib.metadata.requires(name) or []
        queue += [re.split(r"[<>=!~\[;, (]", line)[0] for line in lines if "extra ==" not in line]
    return seen


def licence_of(package: str) -> str:
    metadata = importlib.metadata.metadata(package)
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    return " ".join([metadata.get("License-Expression") or (metadata.get("License") or "")[:200], *classifiers])


def stated() -> dict[str, str]:
    text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    return {name: licence for name, _, licence in ROW.findall(text) if name not in ("package", "robot")}


def test_every_package_that_may_be_needed_is_listed():
    assert set(stated()) == needed()


NOT_INSTALLED = {"drake", "lerobot", "mike", "rerun-sdk", "scene-synthesizer"}
"""Packages of extras that the tests do not need."""


def is_installed(package: str) -> bool:
    try:
        importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def test_the_packages_of_tests_are_installed():
    assert {package for package in needed() if not is_installed(package)} - {"torch"} <= NOT_INSTALLED


@pytest.mark.parametrize("package", sorted(filter(is_installed, stated())))
def test_the_licence_is_that_of_the_metadata(package: str):
    metadata = importlib.metadata.metadata(package)
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    found = " ".join([metadata.get("License-Expression") or metadata.get("License") or "", *classifiers])
    if not found.strip():
        assert stated()[package] == "none stated"
        return
    family = re.split(r"[- ]", stated()[package])[0].replace("'s", "")
    alike = {
        "BSD": "BSD" if "bsd" in found.lower() else "Redistribution and use in source and binary forms",
        "LGPL": "Lesser General Public",
        "TOST": "TOST",
        "ISC": "ISC",
    }.get(family, family)
    assert alike.lower() in found.lower(), found


def test_what_comes_along_under_other_than_permissive_terms_is_named():
    text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    # the page names the many libraries of torch's wheel at once
    uncommon = {name for name in brought_along() if UNCOMMON.search(licence_of(name)) and name not in stated()}
    found = {re.sub("^nvidia-.*", "nvidia-...", name) for name in uncommon}
    assert found
    assert [name for name in sorted(found) if f"`{name}`" not in text] == []
