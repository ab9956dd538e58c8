"""What `unlatch export format=lerobot` takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.lerobot.videos import Codec

V30 = "3.0"
V21 = "2.1"


class FloatType(Enum):
    """How numbers of states and actions are stored."""

    float32 = "float32"
    """The nearest 32-bit number of what was recorded, as every trainer reads it."""
    float64 = "float64"
    """What was recorded, to the bit; LeRobot's own loader still returns 32 bits."""


@dataclass
class LeRobotCfg(ExportCfg):
    """Configuration of a LeRobot export."""

    version: str = V30
    """Version of the format: 3.0, or 2.1 for readers that know no later one."""
    codec: Codec = Codec.h264
    """How images are encoded: `h264` takes over the streams of the render set, `av1` encodes as LeRobot does."""
    float_type: FloatType = FloatType.float32
    """How numbers of states and actions are stored."""
    data_files_size_in_mb: int = 100
    """Size beyond which a new data file is begun [MiB]."""
    video_files_size_in_mb: int = 200
    """Size beyond which a new video file is begun [MiB]."""
    chunks_size: int = 1000
    """Files in one folder at most; of version 2.1 episodes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.version not in (V30, V21):
            raise ConfigError(f"version={self.version} is unknown. Expected {V30} or {V21}. Change it.", key="version")
        for name in ("data_files_size_in_mb", "video_files_size_in_mb", "chunks_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} is out of range. Expected 1 or more.", key=name)
