"""What is refused, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from unlatch.simcore.errors import UnlatchError


@contextmanager
def refused(error: type[UnlatchError], message: str, **values: Any) -> Iterator[None]:
    """Checks that a block raises an error with exactly this message and, if any are given, exactly these values."""
    with pytest.raises(error) as caught:
        yield
    assert caught.value.message == message
    assert not values or caught.value.values == values
