"""Inside the sandbox: run a whole program and capture what it prints.

Runs after boot.py and wire.py; `job` holds `program`, `config` the limits and the descriptors `out` and `printed`. Two
messages go to `out`: that it starts, and how it ended. The program could forge the second one, so it decides nothing
and is only shown with the program's output.
"""

# ruff: noqa: F821, SIM115

import os
import signal
import sys


def too_long(*_):
    raise TimeoutError(f"more than {config['cpu_s']} s of processor time")


def run():
    signal.signal(signal.SIGXCPU, too_long)
    os.dup2(config["printed"], 1)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
    try:
        exec(compile(job["program"], "program", "exec"), {"__name__": "__main__"})
    except SystemExit:
        return None
    except BaseException as error:  # report whatever the program raises
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    finally:
        sys.stdout.flush()
    return None


send(config["out"], {"ready": True})
send(config["out"], {"error": run()})
