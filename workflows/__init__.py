"""The commands of `unlatch`, and what runs episodes for them."""

__all__: list[str] = []
