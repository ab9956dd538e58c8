"""Fills the HTML templates of this package with Jinja."""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined

_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)


def fill_template(package: str, file: str, **values: Any) -> str:
    """Fills a template in a package; texts are escaped unless they are marked as safe."""
    text = (resources.files(package) / file).read_text(encoding="utf-8")
    return _ENVIRONMENT.from_string(text).render(**values)
