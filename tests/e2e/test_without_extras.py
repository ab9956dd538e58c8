"""`pip install unlatch` without extras: every command that needs none loads, and the public names, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e

SCRIPT = """
import importlib, sys

EXTRAS = {
    "av", "coacd", "collada", "fast_simplification", "gymnasium", "h5py", "huggingface_hub", "mitsuba",
    "pxr", "pyarrow", "pygfx", "pyoidn", "ray", "rendercanvas", "torch", "ufbx", "viser", "wgpu", "wrapt",
}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Missing())
import unlatch
from unlatch import command_table

def load(what, module, name=None):
    try:
        found = importlib.import_module(module)
        name and getattr(found, name)
    except Exception as exc:
        print(f"{what}: {type(exc).__name__}: {exc}")

for name in unlatch.__all__:
    load(name, "unlatch", name)
for command in command_table.COMMANDS:
    load(f"unlatch {command}", command_table.module_of(command))
PUBLIC = "data exporters importers objects randomization robots sensors sim skills solver testing"
for module in PUBLIC.split():
    load(f"unlatch.{module}", f"unlatch.{module}")
"""
ALLOWED = ("EvaluationResult", "evaluate")
"""What needs the extra `gym`."""


def test_what_needs_no_extra_loads_without_any():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    failed = [line for line in done.stdout.splitlines() if line.partition(":")[0] not in ALLOWED]
    assert failed == []
    assert "the extra 'gym'" in done.stdout
