"""`python -m unlatch`."""

from unlatch.command_table import run_program

run_program()
