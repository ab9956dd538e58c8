from .categories import CATEGORIES
from .converter import load_partnet_object, partnet_object_set
from .source import check_partnet_objects, partnet_instances, partnet_root

__all__ = [
    "CATEGORIES",
    "check_partnet_objects",
    "load_partnet_object",
    "partnet_instances",
    "partnet_object_set",
    "partnet_root",
]
