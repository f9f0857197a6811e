"""The command ``python -m ferromix.im2rec``."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
