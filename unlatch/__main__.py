"""`python -m unlatch`."""

import sys

from unlatch.command_table import main

sys.exit(main())
