from .arrays import arrays_key as arrays_key
from .arrays import kept_arrays as kept_arrays
from .arrays import remove_oldest as remove_oldest
from .headers import keeping_parsed_headers as keeping_parsed_headers
