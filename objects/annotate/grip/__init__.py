"""Finds where a hand can hold, hook or push a part."""
