from .importer import ImportCfg as ImportCfg
from .importer import ImportedTask as ImportedTask
from .importer import import_tasks as import_tasks
from .peer_file import peer_of as peer_of
