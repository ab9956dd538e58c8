from .conditions import ConditionKind as ConditionKind
from .conditions import ObjectCondition as ObjectCondition
from .conditions import ObjectPoses as ObjectPoses
from .grasps import AntipodalPair as AntipodalPair
from .grasps import antipodal_pairs as antipodal_pairs
from .region import Region as Region
from .region import RegionKind as RegionKind
from .region import RegionOpening as RegionOpening
