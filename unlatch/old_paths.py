"""Paths under which version 0.2 had names that its pages, examples and templates used. The next version drops them.

Each of these names still works, with a DeprecationWarning that says where it is now: of a module that is gone, through
a finder behind those of Python; of a module that remains without the name, through its `__getattr__`. Nothing is
imported before a name is used, and the table of the names only when Python has found nothing else.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:  # importing it takes as long as all of `import unlatch`
    Loader = object


@cache
def _table() -> ModuleType:
    """Returns the module that says where the old names are now."""
    from unlatch import old_path_table  # few processes ask for an old name

    return old_path_table


def old_names(module: str) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a module under whose path version 0.2 had public names."""

    def find_old_name(name: str) -> Any:
        table = None if name.startswith("__") else _table()
        home, known = table.REMAINING.get(module, (table.GONE.get(module, ""), ())) if table else ("", ())
        if table is None or not home or (known and name not in known):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = table.ELSEWHERE.get(f"{module}.{name}", home)
        try:
            value = getattr(import_module(new), name)
        except AttributeError:
            raise AttributeError(f"module {module!r} has no attribute {name!r}. Its names are in {new}.") from None
        _warn(f"{module}.{name}", f"{new}.{name}")
        setattr(sys.modules[module], name, value)
        return value

    return find_old_name


def _warn(old: str, new: str) -> None:
    """Warns the module that has asked the `__getattr__` which calls this."""
    text = f"{old} is {new} now. The next version has only that name."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def _robot_names(robot: str) -> Callable[[str], Any]:
    """Returns the `__getattr__` of the module that a robot had."""

    def find_old_name(name: str) -> Any:
        function = {robot: "load_robot", "urdf_path": "model_path"}.get(name)
        if function is None:
            raise AttributeError(f"module 'unlatch.robots.{robot}' has no attribute {name!r}")
        _warn(f"unlatch.robots.{robot}.{name}()", f"unlatch.robots.{function}({robot!r})")
        return partial(getattr(import_module("unlatch.robots"), function), robot)

    return find_old_name


class _OldPaths(Loader):
    """Finds modules that are gone; it is asked after all others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns how a module that is gone is made; None for any other one."""
        if fullname.partition(".")[0] != "unlatch" or fullname == "unlatch.old_path_table":
            return None
        known = {*_table().GONE, *_table().PARENTS, *_table().ROBOTS}
        return ModuleSpec(fullname, self, is_package=fullname in _table().PARENTS) if fullname in known else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leaves it to Python to make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its `__getattr__`."""
        name = module.__name__
        robot = _table().ROBOTS.get(name)
        vars(module)["__getattr__"] = old_names(name) if robot is None else _robot_names(robot)


_UNDER_MODULES = (
    "unlatch.simcore.recording.data_set.data_set",
    "unlatch.simcore.recording.export.lerobot.reader",
    "unlatch.simcore.state.module",
    "unlatch.solver.diagnosis.diagnosis",
    "unlatch.workflows.viewing.viewers.recorded_scene",
)
"""Modules whose packages have become modules: Python asks no finder for what is below a module."""


def install() -> None:
    """Lets Python find the old paths."""
    finder = _OldPaths()
    sys.meta_path.append(finder)
    for name in _UNDER_MODULES:
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, finder)
        vars(module)["__getattr__"] = old_names(name)
        sys.modules[name] = module
