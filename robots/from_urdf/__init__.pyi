from .reach import ReachModel as ReachModel
from .reach import ReachRegion as ReachRegion
