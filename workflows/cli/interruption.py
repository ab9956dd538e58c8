"""Handles Ctrl-C: the first ends a run after the current episodes, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType


class Interruption:
    """Replaces Python's handler of Ctrl-C while it is entered, if that handler is in place."""

    def __init__(self) -> None:
        self.asked = False
        """Whether Ctrl-C was pressed."""
        self._replaced = False

    def until(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yields numbers until Ctrl-C.

        Args:
            numbers: The numbers.
        """
        for number in numbers:
            if self.asked:
                return
            yield number

    def __enter__(self) -> Interruption:
        in_main = threading.current_thread() is threading.main_thread()
        # a handler that ignores Ctrl-C, as of a script's background command, stays in place
        self._replaced = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._replaced:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._replaced:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
