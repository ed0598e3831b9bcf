"""`python -m harness.cli`, which is `rlvr`."""

import sys

from harness.cli.main import main

sys.exit(main())
