"""Each page that version 0.2.0 had is there, or its old address leads to the page that answers its question now."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture.test_pages import anchors

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAMES = """
annotation annotators any_urdf checks commands completion concepts configuration converters deprecation diagnosis docker
episode export failure_causes failures gallery index learning limits objects paths performance planner_settings plugins
policies python randomization record_format recovery releasing rendering report repository results robots second_engine
sensors skills solver start studio sweeps tasks
coming_from/gensim2 coming_from/interndataengine coming_from/isaac_lab coming_from/mobilitygen coming_from/replicator
howto/annotate howto/bring_a_urdf howto/compose_a_task howto/constraint_term howto/evaluate_a_policy howto/exporter
howto/ray howto/sensor howto/slurm howto/sweep howto/train_with_lerobot howto/write_a_skill
skills/artpreplan skills/close skills/hold skills/home skills/open skills/pick skills/place skills/rotate
"""
OLD_PAGES = NAMES.split()


class Loader(yaml.SafeLoader):
    """Reads tags of Python as None."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
CONFIG: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=Loader)
(REDIRECTS,) = (
    plugin["redirects"]["redirect_maps"]
    for plugin in CONFIG["plugins"]
    if isinstance(plugin, dict) and "redirects" in plugin
)


def problem(old: str) -> str:
    """What is wrong with the old address of a page; an empty text if it leads to a page, and to a heading of it."""
    new, _, anchor = REDIRECTS.get(f"{old}.md", f"{old}.md").partition("#")
    if not (DOCS / new).is_file():
        return f"docs/{new} does not exist: add the address {old}.md to redirect_maps in mkdocs.yml"
    return f"docs/{new} has no heading {anchor}" if anchor and anchor not in anchors(DOCS / new) else ""


@pytest.mark.parametrize("old", OLD_PAGES)
def test_the_old_address_of_a_page_leads_to_a_page(old: str):
    assert problem(old) == ""


def test_an_address_that_leads_nowhere_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(REDIRECTS, "commands.md", "configuration.md#comands")
    monkeypatch.setitem(REDIRECTS, "episode.md", "concept.md")
    assert problem("commands") == "docs/configuration.md has no heading comands"
    assert problem("episode").startswith("docs/concept.md does not exist")
    assert problem("page_of_no_version").startswith("docs/page_of_no_version.md does not exist")
