from .categories import CATEGORIES as CATEGORIES
from .source import check_partnet_objects as check_partnet_objects
from .source import partnet_instances as partnet_instances
from .source import partnet_root as partnet_root
