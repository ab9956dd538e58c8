"""The commands of `unlatch`, and what runs episodes for them."""
