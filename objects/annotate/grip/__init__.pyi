from .handle import find_grip as find_grip
from .push import body_point as body_point
from .push import push_point as push_point
