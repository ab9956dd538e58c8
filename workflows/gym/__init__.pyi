from .config import ActionCfg as ActionCfg
from .config import ActionMode as ActionMode
from .config import ObservationCfg as ObservationCfg
from .config import SuccessWhen as SuccessWhen
from .env import UnlatchEnv as UnlatchEnv
from .registration import register_environments as register_environments
