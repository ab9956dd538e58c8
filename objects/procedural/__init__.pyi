from .catalog import GENERATORS as GENERATORS
