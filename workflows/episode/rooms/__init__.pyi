from .room import Room as Room
