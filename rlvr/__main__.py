"""`python -m rlvr`, which is the command `rlvr`."""

import sys

from rlvr.cli import main

if __name__ == "__main__":  # a process of several imports this file again
    sys.exit(main())
