from .annotate import AnnotationTarget, annotate_target, find_targets
from .convert import ConvertCfg, convert_all, find_jobs
from .make_object import USD_FOLDER, MakeObjectCfg, make_objects
from .new_robot import LOOK_UP, NewRobotCfg

__all__ = [
    "LOOK_UP",
    "USD_FOLDER",
    "AnnotationTarget",
    "ConvertCfg",
    "MakeObjectCfg",
    "NewRobotCfg",
    "annotate_target",
    "convert_all",
    "find_jobs",
    "find_targets",
    "make_objects",
]
