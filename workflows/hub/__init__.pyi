from .config import HubCfg as HubCfg
from .connection import HubConnection as HubConnection
from .push import prepare_push as prepare_push
from .push import push_export as push_export
