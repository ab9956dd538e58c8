from .pace import pace_of as pace_of
