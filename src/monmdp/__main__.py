"""`python -m monmdp` is `monmdp`."""

import sys

from monmdp.cli import main

sys.exit(main())
