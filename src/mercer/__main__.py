"""The command ``python -m mercer``, which is ``mercer`` of the shell."""

from __future__ import annotations

import sys

from mercer.cli import main

if __name__ == "__main__":
    sys.exit(main())
