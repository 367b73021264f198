"""Start a program that ends when whoever started it ends, as another user if asked.

Run as a script, without the project's libraries: ``launcher.py PARENT SIGNAL USER PROGRAM ARGS``.
It becomes the program (exec), so that there is no process in between.

A process that is killed with SIGKILL cannot stop its children. On Linux the kernel can: it sends
SIGNAL to a child whose parent is gone (PR_SET_PDEATHSIG). The setting survives exec and is lost
when the user changes, therefore the user is changed first, here; changing it before Python starts
would not do either, since an unprivileged user may not be able to read root's Python. Where the
kernel has no such call the next start finds what was left running and stops it.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Take the arguments of the command line; end with 1 when the parent is already gone."""
    parent, number, user, program, *arguments = sys.argv[1:]
    if user != "-":
        uid, gid = (int(part) for part in user.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if os.getppid() != int(parent):  # it went before the kernel was told
        sys.exit(1)
    os.execv(program, [program, *arguments])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
