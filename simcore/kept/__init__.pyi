from .arrays import arrays_key as arrays_key
from .arrays import kept_arrays as kept_arrays
from .files import read_kept as read_kept
from .files import write_kept as write_kept
from .own_files import is_own as is_own
