from .room import show_room as show_room
