"""The tree of all state; independent of the simulator."""

from unlatch.simcore.state.buffer import Buffer
from unlatch.simcore.state.module import Module
from unlatch.simcore.state.rendering import Rendering

__all__ = ["Buffer", "Module", "Rendering"]
