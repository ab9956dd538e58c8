"""Hydra groups (the YAML files beside this one), their schemas, and how they are composed and checked."""

from __future__ import annotations

from pathlib import Path

__all__ = ["config_dir"]


def config_dir() -> Path:
    """The folder of our YAML files, whatever the current directory."""
    return Path(__file__).resolve().parent
