from .fields import EPISODE_FIELDS as EPISODE_FIELDS
from .structure import Field as Field
from .structure import kind_problems as kind_problems
from .structure import sources as sources
