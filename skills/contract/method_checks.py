"""Checks what the author of a skill writes: the parameters of its methods, and what they return."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from unlatch.simcore.errors import SkillError
from unlatch.skills.contract.command import ManipCommand
from unlatch.skills.contract.failure import Failure


def check_methods(cls: type) -> None:
    """Checks the methods that a skill overrides. Calls of them are checked as well from then on.

    Raises:
        SkillError: A method cannot be called as the one that it overrides.
    """
    for name, method in list(vars(cls).items()):
        overridden = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
        if not isinstance(method, FunctionType) or not isinstance(overridden, FunctionType):
            continue
        if name == "__init__":
            setattr(cls, name, _with_checked_start(method))
        elif not name.startswith("_"):
            _check_parameters(cls, name, method, overridden)
        if name in _RESULTS:
            setattr(cls, name, _with_checked_result(method, *_RESULTS[name]))


def _check_parameters(cls: type, name: str, method: FunctionType, overridden: FunctionType) -> None:
    expected = inspect.signature(overridden)
    parameters = list(expected.parameters.values())
    by_name = {item.name: None for item in parameters if item.kind is item.KEYWORD_ONLY}
    by_place = [None for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    try:
        inspect.signature(method).bind(*by_place, **by_name)
    except TypeError:
        written, wanted = (", ".join(inspect.signature(item).parameters) for item in (method, overridden))
        raise SkillError(
            f"{cls.__qualname__}.{name} has the parameters ({written}). Expected ({wanted}), as of the method that it "
            f"overrides. Change them. {place_of(method)}",
            name=name,
        ) from None


def _with_checked_start(start: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(start)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        start(self, *args, **kwargs)
        if not hasattr(self, "executor"):
            raise SkillError(
                f"{type(self).__qualname__}.__init__ does not call super().__init__(cfg, context). Call it first. "
                f"{place_of(start)}"
            )

    return checked


def _with_checked_result(method: Callable[..., Any], fits: Callable[[Any], bool], expected: str) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = method(self, *args, **kwargs)
        if not fits(found):
            advice = " Does it lack a `return`?" if found is None else ""
            raise SkillError(
                f"{type(self).__qualname__}.{method.__name__} returned {repr(found)[:80]}. Expected {expected}."
                f"{advice} {place_of(method)}",
                name=method.__name__,
            )
        return found

    return checked


def place_of(method: Callable[..., Any]) -> str:
    """Returns file and line of a method, as they stand in a traceback."""
    code = inspect.unwrap(method).__code__
    return f'File "{code.co_filename}", line {code.co_firstlineno}'


def _are_commands(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(command, ManipCommand) for command in found)


_RESULTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "plan": (lambda found: isinstance(found, bool), "True or False"),
    "make_commands": (_are_commands, "a list of ManipCommand"),
    "unmet_condition": (lambda found: found is None or isinstance(found, Failure), "a Failure or None"),
}
"""What a method returns, and how a message says it."""
