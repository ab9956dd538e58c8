from .language import FIELDS, fill_in, phrasing_draws, step_language, task_language
from .layout import Layout, check_opening, describe_object, sample_layout
from .phrasings import task_phrasings
from .relation import RelationCfg, order_relations
from .scene_names import TABLE, plinth_name
from .task import GoalCfg, GoalKind, OpennessCfg, RegionCfg, TaskCfg

__all__ = [
    "FIELDS",
    "TABLE",
    "GoalCfg",
    "GoalKind",
    "Layout",
    "OpennessCfg",
    "RegionCfg",
    "RelationCfg",
    "TaskCfg",
    "check_opening",
    "describe_object",
    "fill_in",
    "order_relations",
    "phrasing_draws",
    "plinth_name",
    "sample_layout",
    "step_language",
    "task_language",
    "task_phrasings",
]
