"""The tree of everything that has state; no simulator inside."""

from simcore.state.buffer import Buffer
from simcore.state.module import Module
from simcore.state.rendering import Rendering

__all__ = ["Buffer", "Module", "Rendering"]
