"""Verified demonstrations of a robot opening, closing and turning articulated objects.

    import unlatch

    cfg = unlatch.load("open_microwave", "robot=ur5", seed=7)
    data = unlatch.collect(cfg, episodes=20, out="data/demo")
    print(data[3].success, data[3].language[0])

The names in `__all__` are imported when they are first used: importing this package loads no other one.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import Any

try:
    import lazy_loader
except ModuleNotFoundError as exc:
    raise ModuleNotFoundError(
        f"Unlatch is not installed in this Python, {sys.executable}: package '{exc.name}' is missing. "
        "Activate the environment that has it (. .venv/bin/activate), or install it in the folder of the repository: "
        "pip install -e .",
        name=exc.name,
    ) from None

__version__ = "0.2.0"

_load_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Returns a name of `__all__`, or `UnlatchError` under the name that it had in version 0.2, with a warning."""
    if name != "SimCoreError":
        return _load_name(name)
    warnings.warn(
        f"{name} is named UnlatchError. The next version has only that name.", DeprecationWarning, stacklevel=2
    )
    return _load_name("UnlatchError")


def _register_environments(_: object = None) -> None:
    """Registers every task with Gymnasium as `unlatch/<Task>-v0`."""
    from unlatch.workflows.gym.registration import register_environments

    register_environments()


if "gymnasium" in sys.modules:
    _register_environments()
else:
    with suppress(ModuleNotFoundError):  # wrapt comes with the extra `gym`, as Gymnasium does
        from wrapt import when_imported

        when_imported("gymnasium")(_register_environments)
