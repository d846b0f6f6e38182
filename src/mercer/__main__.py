"""The command ``python -m mercer``, which is ``mercer`` of the shell."""

from __future__ import annotations

import sys

from mercer._optional import application


def main() -> int:
    """Run the command line of mercer-studio, or say how it is installed."""
    try:
        command = application("main")
    except ImportError as error:
        print(f"mercer: {error}", file=sys.stderr)
        return 1
    return int(command())


if __name__ == "__main__":
    sys.exit(main())
