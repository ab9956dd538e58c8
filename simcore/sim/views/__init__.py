"""Views: the same thing in several environments of one world, with attributes that can be read and written."""
