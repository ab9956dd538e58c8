from .arrays import arrays_key as arrays_key
from .arrays import kept_arrays as kept_arrays
from .files import read_kept as read_kept
from .files import write_kept as write_kept
from .headers import keeping_parsed_headers as keeping_parsed_headers
