from .side import RestsOn as RestsOn
from .stable_sides import stable_sides as stable_sides
from .stable_sides import suits_any_side as suits_any_side
from .turned_files import write_turned_object as write_turned_object
from .turned_object import turn_object as turn_object
