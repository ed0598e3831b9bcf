"""The command `rlvr`, also as `python -m rlvr`."""

import sys


def main() -> int:
    """Entry point. Returns the exit code. An interrupt while the command line is imported leaves no traceback."""
    try:
        from evals.environment import end_without_threads
        from harness.runs import libraries, track
        from rlvr.cli import main as run
    except KeyboardInterrupt:
        print("interrupted; nothing was started", file=sys.stderr)
        return 130
    end_without_threads()
    if "--debug" not in sys.argv:
        libraries.kept(track.home() / libraries.LOG)
    return run()


if __name__ == "__main__":  # a process of several imports this file again
    sys.exit(main())
