"""Fills the HTML templates of pages with Jinja."""

from __future__ import annotations

from importlib import resources
from typing import Any


def fill_template(file: str, **values: Any) -> str:
    """Fills a file of the folder `templates`; texts are escaped unless they are marked as safe."""
    from jinja2 import Environment, StrictUndefined  # pages alone need it

    text = (resources.files("unlatch.workflows.viewing") / "templates" / file).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return environment.from_string(text).render(**values)
