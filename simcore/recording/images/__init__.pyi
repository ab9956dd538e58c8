from .frame_video import CRF, H264_OPTIONS, FrameVideoWriter
from .modality import MODALITIES, POINT_CLOUD, RGB, Stream
from .pytorch_listener import PytorchListener
from .pytorch_writer import PytorchWriter
from .rendered_annotations import annotation_names, annotations_file
from .rendered_episode import CAMERAS_FILE, stream_file
from .renders import RenderSet, render_folder, render_names

__all__ = [
    "CAMERAS_FILE",
    "CRF",
    "H264_OPTIONS",
    "MODALITIES",
    "POINT_CLOUD",
    "RGB",
    "FrameVideoWriter",
    "PytorchListener",
    "PytorchWriter",
    "RenderSet",
    "Stream",
    "annotation_names",
    "annotations_file",
    "render_folder",
    "render_names",
    "stream_file",
]
