"""Views: one kind of thing in several environments of a world, with attributes to read and write."""
