from .batched import InferenceStatistics as InferenceStatistics
from .catalog import load_policy as load_policy
from .module import load as load
from .policy import Policy as Policy
