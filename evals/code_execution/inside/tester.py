"""Inside the second sandbox: the tests. They call the candidate's function in the first one and give the verdict.

Runs after boot.py and wire.py; `job` holds `prompt` (what defines the problem's helpers), `tests` (which define
`check`) and `entry_point`; `config` the descriptors `calls` (to the candidate), `replies` (from it) and `out`.
"""

# ruff: noqa: F821


class FailedError(Exception):
    pass


def verdict():
    replies = Lines(config["replies"])
    first = replies.next()
    if first is None or "ready" not in first:
        return {"sandbox": (first or {}).get("sandbox", "the candidate's sandbox did not start")}

    def candidate(*args, **kwargs):
        try:
            send(config["calls"], {"args": encode(args), "kwargs": encode(kwargs)})
        except OSError:
            raise FailedError("the program ended") from None
        reply = replies.next()
        if reply is None:
            raise FailedError("the program ended, or said too much")
        if "value" not in reply:
            raise FailedError(str(reply.get("error"))[:100])
        return decode(reply["value"])

    space = {"__name__": "tests"}
    try:
        exec(compile(job["prompt"], "prompt", "exec"), space)
        space[job["entry_point"]] = candidate
        exec(compile(job["tests"], "tests", "exec"), space)
        space["check"](candidate)
    except BaseException as error:  # a failed assertion, or an error from an incorrect value
        return {"passed": False, "why": f"{type(error).__name__}: {str(error)[:200]}"}
    return {"passed": True}


send(config["out"], verdict())
