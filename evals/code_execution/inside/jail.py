"""Enter a sandbox, then run a program in it: `python -I -B jail.py CONFIG PROGRAM.py ...` (Linux).

Its own user, mount, network, process, IPC and host-name namespaces: no network at all, no other process, and of
the file system only what Python needs, read-only, and one small temporary folder. No capabilities, no way to
gain any, and limits on CPU seconds, memory, processes, files and their size. CONFIG is JSON
(`evals.code_execution.function_sandbox`).

If any step fails, one line {"sandbox": why} goes to the descriptor `out`, and nothing is run.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
DETACH = 2
SET_PDEATHSIG, CAPBSET_DROP, SET_NO_NEW_PRIVS = 1, 24, 38
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000  # the call's number is the same on every architecture
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind, flags, data=None):
    def text(value):
        return None if value is None else value.encode()

    done = libc.mount(text(source), target.encode(), text(kind), ctypes.c_ulong(flags), text(data))
    check(done, f"mount {source} on {target}")


def read_only(path):
    """Make a mount and all below it read-only."""
    attributes = (ctypes.c_uint64 * 4)(RDONLY | NOSUID | NODEV, 0, 0, 0)  # struct mount_attr: set, clear, ...
    arguments = (ctypes.c_long(AT_FDCWD), path.encode(), ctypes.c_long(AT_RECURSIVE), attributes, ctypes.c_long(32))
    check(libc.syscall(ctypes.c_long(MOUNT_SETATTR), *arguments), f"make {path} read-only")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def own_namespaces(user):
    """Enter new namespaces. Inside, id 0 maps to the current user and, when started by root, id 1 to `user`."""
    pid, root = os.getpid(), os.geteuid() == 0
    wait_read, wait_write = os.pipe()
    helper = os.fork()  # stays outside, where the ids are valid
    if helper == 0:
        os.close(wait_write)
        os.read(wait_read, 1)
        try:
            if root:
                write(f"/proc/{pid}/uid_map", f"0 0 1\n1 {user} 1\n")
                write(f"/proc/{pid}/gid_map", f"0 0 1\n1 {user} 1\n")
            else:
                write(f"/proc/{pid}/setgroups", "deny")
                write(f"/proc/{pid}/uid_map", f"0 {os.geteuid()} 1\n")
                write(f"/proc/{pid}/gid_map", f"0 {os.getegid()} 1\n")
        except OSError:
            os._exit(1)
        os._exit(0)
    check(libc.unshare(NEWUSER | NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS), "new namespaces")
    os.close(wait_write)
    if os.waitpid(helper, 0)[1] != 0:
        raise OSError("the user namespace's ids could not be set")
    write("/proc/sys/user/max_user_namespaces", "0")  # nothing inside can create another one
    return root


def own_files(config):
    """Set up a new root: `visible` read-only, /sandbox for writing (also as /tmp), /dev/null."""
    root = config["root"]
    mount("none", "/", None, REC | PRIVATE)
    mount("tmpfs", root, "tmpfs", NOSUID | NODEV, "size=1m,mode=755")
    for path in config["visible"]:
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.islink(path):
            os.symlink(os.readlink(path), target)
            continue
        os.mkdir(target)
        mount(path, target, None, BIND | REC)
        read_only(target)
    os.mkdir(f"{root}/dev")
    write(f"{root}/dev/null", "")
    mount("/dev/null", f"{root}/dev/null", None, BIND)
    for name in ("sandbox", "sandbox-old"):
        os.mkdir(f"{root}/{name}")
    if not os.path.lexists(f"{root}/tmp"):
        os.symlink("sandbox", f"{root}/tmp")
    mount("tmpfs", f"{root}/sandbox", "tmpfs", NOSUID | NODEV, f"size={config['disk_mb']}m,mode=777")
    check(libc.pivot_root(root.encode(), f"{root}/sandbox-old".encode()), "a root of its own")
    os.chdir("/sandbox")
    check(libc.umount2(b"/sandbox-old", DETACH), "leave the old root")
    mount(None, "/", None, REMOUNT | BIND | RDONLY | NOSUID | NODEV)


def limits(config):
    mib = 2**20
    for kind, value in (
        (resource.RLIMIT_CPU, config["cpu_s"]),
        (resource.RLIMIT_AS, config["memory_mb"] * mib),
        (resource.RLIMIT_FSIZE, config["disk_mb"] * mib),
        (resource.RLIMIT_NPROC, config["processes"]),
        (resource.RLIMIT_NOFILE, 32),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


def no_powers(root):
    for capability in range(64):
        if libc.prctl(CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # no such capability: all are dropped
    if root:
        os.setgroups([])
        os.setresgid(1, 1, 1)
        os.setresuid(1, 1, 1)
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    check(libc.capset(header, none), "drop capabilities")
    check(libc.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")


def enter(config):
    """Return inside, as the sandbox's first process; the calling process waits for it and exits with it."""
    libc.prctl(SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    root = own_namespaces(config["user"])
    inside = os.fork()
    if inside == 0:
        libc.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        own_files(config)
        limits(config)
        no_powers(root)
        os.environ.clear()
        os.environ.update({"HOME": "/sandbox", "TMPDIR": "/sandbox", "PATH": "/usr/bin:/bin"})
        return
    for descriptor in config["keep"]:
        os.close(descriptor)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(inside, signal.SIGKILL))  # kills its children as well
    os.waitpid(inside, 0)
    os._exit(0)


def main():
    config = json.loads(sys.argv[1])
    programs = [compile(read(path), path, "exec") for path in sys.argv[2:]]
    job = json.load(sys.stdin)
    try:
        enter(config)
    except (OSError, ValueError, AttributeError) as error:
        os.write(config["out"], json.dumps({"sandbox": str(error)}).encode() + b"\n")
        os._exit(1)
    namespace = {"__name__": "inside", "job": job, "config": config}
    for program in programs:
        exec(program, namespace)


main()
