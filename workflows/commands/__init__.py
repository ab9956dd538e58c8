"""The commands of `unlatch`; `unlatch.command_table` says which module has which."""
