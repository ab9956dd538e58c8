from .cameras import RenderSettings, read_render_settings, with_cameras
from .chain import check_chain_form, entry_keys
from .composition import Request, compose_config, to_plain
from .config_files import TASKS, config_dir, option_names, yaml_files
from .cross_checks import check_episode
from .dataclass_reader import prefix_error_keys, read_dataclass, unknown_key
from .derivation.derived_task import REACH_CENTER_M, REACH_HALF_M
from .experiment import check_sweep_values, require_multirun, sweep_overrides
from .hydra_errors import explain_error
from .json_schema import task_schema
from .origins import find_origins, iterate_leaves, origin_of
from .overrides import expand_sweep
from .schema import EpisodeCfg
from .setting_file import read_setting_file

__all__ = [
    "REACH_CENTER_M",
    "REACH_HALF_M",
    "TASKS",
    "EpisodeCfg",
    "RenderSettings",
    "Request",
    "check_chain_form",
    "check_episode",
    "check_sweep_values",
    "compose_config",
    "config_dir",
    "entry_keys",
    "expand_sweep",
    "explain_error",
    "find_origins",
    "iterate_leaves",
    "option_names",
    "origin_of",
    "prefix_error_keys",
    "read_dataclass",
    "read_render_settings",
    "read_setting_file",
    "require_multirun",
    "sweep_overrides",
    "task_schema",
    "to_plain",
    "unknown_key",
    "with_cameras",
    "yaml_files",
]
