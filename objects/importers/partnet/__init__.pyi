from .categories import CATEGORIES as CATEGORIES
from .converter import load_partnet_object as load_partnet_object
from .converter import partnet_object_set as partnet_object_set
from .source import check_partnet_objects as check_partnet_objects
from .source import partnet_instances as partnet_instances
from .source import partnet_root as partnet_root
