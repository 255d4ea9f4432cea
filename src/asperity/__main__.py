"""``python -m asperity``: the command line."""

import sys

from asperity.cli import main

if __name__ == "__main__":
    sys.exit(main())
