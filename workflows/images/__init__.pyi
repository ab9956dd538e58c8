from .export import DEFAULT_FORMAT, export_data_set
from .label import LabelCfg
from .render import RenderWork, header_of, prepare_render
from .render_config import AUTO, ImagesCfg, RenderCfg
from .render_job import RenderJob, RenderOutcome

__all__ = [
    "AUTO",
    "DEFAULT_FORMAT",
    "ImagesCfg",
    "LabelCfg",
    "RenderCfg",
    "RenderJob",
    "RenderOutcome",
    "RenderWork",
    "export_data_set",
    "header_of",
    "prepare_render",
]
