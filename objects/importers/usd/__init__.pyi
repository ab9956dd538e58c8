from .openusd import import_openusd as import_openusd
from .stage import USD_SUFFIXES as USD_SUFFIXES
from .stage import is_usd as is_usd
from .writer import write_usd as write_usd
