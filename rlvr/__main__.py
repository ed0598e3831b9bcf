"""`python -m rlvr`, which is the command `rlvr`."""

import sys

from rlvr.cli import main

sys.exit(main())
