"""Verified demonstrations of a robot opening, closing and turning articulated objects.

    import unlatch

    cfg = unlatch.load("open_microwave", "robot=ur5", seed=7)
    data = unlatch.collect(cfg, episodes=20, out="data/demo")
    print(data[3].success, data[3].language[0])

The names in `__all__` are imported when they are first used: importing this package loads no other one.
"""

from __future__ import annotations

import sys

try:
    import lazy_loader
    from wrapt import when_imported
except ModuleNotFoundError as exc:
    raise ModuleNotFoundError(
        f"Unlatch is not installed in this Python, {sys.executable}: package '{exc.name}' is missing. "
        "Activate the environment that has it (. .venv/bin/activate), or install it in the folder of the repository: "
        "pip install -e .",
        name=exc.name,
    ) from None

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


@when_imported("gymnasium")
def _register_environments(_: object) -> None:
    """Registers every task with Gymnasium as `unlatch/<Task>-v0` once a program imports Gymnasium."""
    from unlatch.workflows.gym.registration import register_environments

    register_environments()
