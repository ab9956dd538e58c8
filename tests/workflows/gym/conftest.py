"""Environments that are closed at the end of a test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Makes environments as `unlatch.make_env` does, and closes them at the end of the test."""
    import unlatch

    with ExitStack() as stack:
        yield lambda *args, **kwargs: stack.enter_context(closing(unlatch.make_env(*args, **kwargs)))
