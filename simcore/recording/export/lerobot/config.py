"""Options of `unlatch export format=lerobot`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from unlatch.simcore.ranges import Count
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.lerobot.videos import Codec


class FloatType(Enum):
    """How numbers of states and actions are stored."""

    float32 = "float32"
    """32 bits, as every trainer reads numbers."""
    float64 = "float64"
    """64 bits, as in the record; LeRobot's own loader still returns 32 bits."""


@dataclass
class LeRobotCfg(ExportCfg):
    """Configuration of a LeRobot export."""

    codec: Codec = Codec.h264
    """How images are encoded: `h264` copies the streams of the render set, `av1` encodes like LeRobot."""
    float_type: FloatType = FloatType.float32
    """How numbers of states and actions are stored."""
    data_files_size_in_mb: Count = 100
    """Size limit of a data file [MiB]."""
    video_files_size_in_mb: Count = 200
    """Size limit of a video file [MiB]."""
    chunks_size: Count = 1000
    """Largest number of files in one folder."""
