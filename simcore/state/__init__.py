"""The tree of everything that has state; no simulator inside."""

from unlatch.simcore.state.buffer import Buffer
from unlatch.simcore.state.module import Module
from unlatch.simcore.state.rendering import Rendering

__all__ = ["Buffer", "Module", "Rendering"]
