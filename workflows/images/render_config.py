"""Options of `unlatch render` and `unlatch collect render=true`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from unlatch.configs.schema import Scenery
from unlatch.simcore.catalogs import AUTO
from unlatch.simcore.errors import ConfigError, unknown_name
from unlatch.simcore.ranges import Range
from unlatch.simcore.recording.modality import MODALITIES, POINT_CLOUD, annotation_names

RGB = ("h264", "lossless")
MAX_WORKERS = 1024


@dataclass
class ImagesCfg:
    """Options of one render set."""

    cameras: list[Any] | None = None
    """Cameras: names, or maps with settings; null: the cameras of the records, or else front and wrist."""
    size_px: list[int] | None = None
    """Width and height of the images of all cameras [pixels]; null: each camera has its own."""
    modalities: list[str] = field(default_factory=lambda: ["rgb"])
    """Kinds of images, and names of annotators."""
    semantic_types: list[str] = field(default_factory=lambda: ["class", "part"])
    """Types of the labels that are annotated: `class` of whole bodies, `part`, `link`, ..."""
    leave_out: list[str] = field(default_factory=list)
    """Classes that are not annotated."""
    camera_rotation_deg: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    """Rotation from our camera frame to that of annotated poses [degrees]."""
    name: str = "default"
    """Name of the render set."""
    renderer: str = AUTO
    """Name in the catalog of renderers, or `auto`."""
    rgb: str = "h264"
    """Encoding of colours: `h264` or `lossless`."""
    scenery: Scenery | None = None
    """The room in the images; null: that of the episodes."""
    randomization: str | None = None
    """Name of a YAML file with visual rules to draw from; null: the episodes look as recorded."""

    def __post_init__(self) -> None:
        for index, modality in enumerate(self.modalities):
            _check_one_of(modality, _known_modalities(), f"modalities[{index}]", kind="modality")
        if not self.modalities or len(set(self.modalities)) < len(self.modalities):
            raise ConfigError(
                f"modalities={self.modalities} is empty or names one twice. Expected some of "
                f"{', '.join(_known_modalities())}. Change it.",
                key="modalities",
            )
        _check_one_of(self.rgb, RGB, "rgb", kind="encoding")
        if self.size_px is not None and len(self.size_px) != 2:
            raise ConfigError(
                f"size_px={self.size_px} is not a size. Expected width and height, such as [128,128]. Change it.",
                key="size_px",
            )
        # without annotators, their keys would be ignored
        defaults = {"semantic_types": ["class", "part"], "leave_out": [], "camera_rotation_deg": [0.0, 0.0, 0.0]}
        for key, default in ({} if self.annotators else defaults).items():
            if getattr(self, key) != default:
                raise ConfigError(
                    f"{key}={getattr(self, key)} has no effect on {', '.join(self.modalities)}. Expected an annotator "
                    f"among modalities ({', '.join(annotation_names())}). Add one, or remove {key}.",
                    key=key,
                )

    @property
    def images(self) -> list[str]:
        """Kinds of stored images; a point cloud is stored as distances."""
        kept = ["distance" if modality == POINT_CLOUD else modality for modality in self.modalities]
        return list(dict.fromkeys(modality for modality in kept if modality in MODALITIES))

    @property
    def annotators(self) -> list[str]:
        """Names of annotators."""
        return [modality for modality in self.modalities if modality in annotation_names()]


@dataclass
class RenderCfg(ImagesCfg):
    """Options of `unlatch render`: a render set, its episodes and workers."""

    all: bool = False
    """Whether failed episodes are rendered too."""
    only: list[int] | None = None
    """Only these episodes, successful or not."""
    workers: Annotated[int, Range(1, MAX_WORKERS)] | None = None
    """Processes; null: one per CPU core."""
    executor: str = "process"
    """Name in the catalog of executors."""
    episode_timeout_s: Annotated[float, Range(1.0)] | None = None
    """Wall time after which the worker of an episode is replaced [s]; null: never."""
    max_retries: Annotated[int, Range(0)] = 1
    """How often an episode is rendered again if its worker died or was replaced."""


def _known_modalities() -> tuple[str, ...]:
    """Returns all names of modalities."""
    return (*MODALITIES, POINT_CLOUD, *annotation_names())


def _check_one_of(value: str, known: Sequence[str], key: str, *, kind: str) -> None:
    if value not in known:
        raise unknown_name(value, f"a known {kind}", where=key, known=known)
