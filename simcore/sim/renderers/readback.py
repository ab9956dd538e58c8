"""Memory that the device of wgpu writes and Python reads, kept between images."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray

ROW_ALIGNMENT = 256
"""Rows of a texture are copied to starts that are multiples of this [bytes]."""


class Readback:
    """One block of memory. The copy to it is recorded, `start` follows the submission, and `values` waits for them.

    wgpu's own `read_texture` makes and frees such a block for every image, and waits before anything else can be
    submitted.
    """

    def __init__(self, device: Any, n_bytes: int) -> None:
        import wgpu

        usage = wgpu.BufferUsage
        self.buffer = device.create_buffer(size=-(-n_bytes // 8) * 8, usage=usage.COPY_DST | usage.MAP_READ)
        """The buffer to copy to."""
        self._n_bytes = n_bytes
        self._mapped: Any = None

    def start(self) -> None:
        """Asks for the values of everything that was submitted before."""
        self._mapped = self.buffer.map_async("READ")

    @contextmanager
    def values(self, dtype: DTypeLike) -> Iterator[Array]:
        """Yields the values (N,); they are gone afterwards."""
        self._mapped.sync_wait()
        try:
            yield np.frombuffer(self.buffer.read_mapped(copy=False)[: self._n_bytes], dtype=dtype)
        finally:
            self.buffer.unmap()
