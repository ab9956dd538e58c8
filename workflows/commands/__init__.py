"""The commands of `unlatch`, one file each."""
