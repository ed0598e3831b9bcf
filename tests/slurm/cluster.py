"""Slurm on this machine: munged, slurmctld and slurmd with one node of two cores, in a separate folder."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONF = """\
ClusterName=rlvr
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=60
MinJobAge=3600
SchedulerParameters=batch_sched_delay=1,sched_interval=2
JobRequeue=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def cluster() -> Iterator[dict[str, str]]:
    """Start it; what a process needs in its environment to use it. Stops its three daemons at the end."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # short: it holds a socket
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    ports = _free_ports()
    (folder / "slurm.conf").write_text(
        CONF.format(
            host=socket.gethostname().partition(".")[0],
            user=pwd.getpwuid(os.getuid()).pw_name,
            folder=folder,
            controller_port=ports[0],
            node_port=ports[1],
        )
    )
    conf = str(folder / "slurm.conf")
    environment = {"SLURM_CONF": conf}
    munge = [f"--{name}={folder}/munge.{name.partition('-')[0]}" for name in ("pid-file", "log-file", "seed-file")]
    commands = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.sock", f"--key-file={key}", *munge],
        ["slurmctld", "-D", "-c", "-f", conf],
        ["slurmd", "-D", "-f", conf],
    ]
    search = os.environ["PATH"] + ":/usr/sbin:/sbin"
    daemons: list[subprocess.Popen[bytes]] = []
    with (folder / "daemons.log").open("ab") as log:
        try:
            for command in commands:
                program = shutil.which(command[0], path=search)
                assert program is not None, f"{command[0]} is not installed"
                daemons.append(
                    subprocess.Popen([program, *command[1:]], stdout=log, stderr=log, env={**os.environ, **environment})
                )
                time.sleep(1)
            deadline = time.monotonic() + 60
            while "idle" not in _sinfo(environment):
                assert time.monotonic() < deadline, (folder / "daemons.log").read_text()
                time.sleep(0.5)
            yield environment
        finally:
            subprocess.run(["scancel", "--me"], env={**os.environ, **environment}, check=False, timeout=30)
            time.sleep(2)
            for daemon in reversed(daemons):
                daemon.terminate()
            for daemon in daemons:
                try:
                    daemon.wait(20)
                except subprocess.TimeoutExpired:
                    daemon.kill()
    shutil.rmtree(folder, ignore_errors=True)


def _sinfo(environment: dict[str, str]) -> str:
    command = ["sinfo", "-h", "-o", "%T"]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=30
    ).stdout


def _free_ports() -> list[int]:
    sockets = [socket.socket() for _ in range(2)]
    try:
        for bound in sockets:
            bound.bind(("127.0.0.1", 0))
        return [bound.getsockname()[1] for bound in sockets]
    finally:
        for bound in sockets:
            bound.close()
