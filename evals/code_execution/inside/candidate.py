"""Inside the first sandbox: the model's program. It answers calls of its function and sees no test.

Runs after boot.py and wire.py; `job` holds `program` and `entry_point`, `config` the descriptors `calls` and `out`.
"""

# ruff: noqa: F821


def serve():
    calls, out = Lines(config["calls"]), config["out"]
    send(out, {"ready": True})
    try:
        space = {"__name__": "candidate"}
        exec(compile(job["program"], "candidate", "exec"), space)
        function = space[job["entry_point"]]
    except BaseException as error:  # report whatever the program raises
        send(out, {"error": type(error).__name__})
        return
    while (call := calls.next()) is not None:
        try:
            result = encode(function(*decode(call["args"]), **decode(call["kwargs"])))
        except BaseException as error:
            send(out, {"error": type(error).__name__})
        else:
            send(out, {"value": result})


serve()
