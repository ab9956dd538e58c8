"""What a command imports when it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = ("av.video", "scipy.interpolate", "scipy.spatial", "toppra", "trimesh.base", "urllib.request")
"""Together 0.4 s, and needed by a plan, a picture or the conversion of a mesh only."""


@pytest.mark.slow
def test_collect_starts_without_what_only_an_episode_needs() -> None:
    code = (
        "import sys, unlatch.workflows.commands.collect; "
        f"print([name for name in {LATER} if name in sys.modules], 'casadi' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("commands.check", ("hydra", "scipy.spatial")),
        ("commands.images", ("hydra", "omegaconf", "scipy.spatial")),
        ("runs.collect_job", ("hydra", "omegaconf", "rich", "ompl.base", "packaging.requirements", "PIL.Image")),
    ],
)
def test_what_composes_no_configuration_imports_no_hydra(module: str, names: tuple[str, ...]) -> None:
    code = f"import sys, unlatch.workflows.{module}; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
