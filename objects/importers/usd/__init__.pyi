from .openusd import import_openusd as import_openusd
from .writer import write_usd as write_usd
