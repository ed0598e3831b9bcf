"""The first code in the sandbox: set the limits, then run wire.py and one of the other programs of this folder.

bubblewrap starts it (`evals.code_execution.sandbox`). Standard input holds the job and its limits as JSON.
"""

import json
import os
import resource
import sys

config = json.load(sys.stdin)
os.dup2(os.open("/dev/null", os.O_WRONLY), 2)  # until here, an error was bubblewrap's
resource.setrlimit(resource.RLIMIT_CPU, (config["cpu_s"], config["cpu_s"] + 1))  # SIGXCPU, then SIGKILL
for limit, value in {
    resource.RLIMIT_AS: config["memory_mb"] * 2**20,
    resource.RLIMIT_FSIZE: config["disk_mb"] * 2**20,
    resource.RLIMIT_NOFILE: 32,
    resource.RLIMIT_CORE: 0,
}.items():
    resource.setrlimit(limit, (value, value))
namespace = {"__name__": "inside", "job": config["job"], "config": config}
for name in ("wire", config["role"]):
    with open(f"/inside/{name}.py", encoding="utf-8") as file:
        exec(compile(file.read(), file.name, "exec"), namespace)
