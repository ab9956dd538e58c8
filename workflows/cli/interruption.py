"""Ctrl-C: once ends a run after the episodes that are being made, a second time at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from types import FrameType, TracebackType


class Interruption:
    """Takes the place of Python's own handler of Ctrl-C while it is entered, where that is in place."""

    def __init__(self) -> None:
        """Takes no notice yet."""
        self.asked = False
        """Whether Ctrl-C was pressed."""
        self._taken = False

    def until(self, numbers: Iterable[int]) -> Iterator[int]:
        """Numbers, one by one, until Ctrl-C.

        Args:
            numbers: The numbers.
        """
        for number in numbers:
            if self.asked:
                return
            yield number

    def __enter__(self) -> Interruption:
        in_main = threading.current_thread() is threading.main_thread()
        # one that is ignored, as of a command in the background of a script, stays ignored
        self._taken = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._taken:
            signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._taken:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
