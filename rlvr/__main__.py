"""The command `rlvr`, also as `python -m rlvr`."""

import sys


def main() -> int:
    """Entry point; returns the exit code. An interrupt while the command line is imported leaves no traceback."""
    try:
        from evals.environment import end_without_threads
        from rlvr.cli import main as run
    except KeyboardInterrupt:
        print("interrupted; nothing was started", file=sys.stderr)
        return 130
    end_without_threads()
    return run()


if __name__ == "__main__":  # a process of several imports this file again
    sys.exit(main())
