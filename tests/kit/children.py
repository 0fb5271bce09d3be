"""Children for the process tests, run as `python children.py <story>`. Each says when it is ready."""

import os
import signal
import sys
from pathlib import Path


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def ignore_signals() -> None:
    signal.signal(signal.SIGINT, lambda *_: say("interrupted"))
    signal.signal(signal.SIGTERM, lambda *_: say("terminated"))


def pause_for_ever() -> None:
    while True:
        signal.pause()


def stubborn() -> None:
    """Ignores SIGINT and SIGTERM; has an orphan in another session that does so too."""
    ignore_signals()
    daemonise()
    say(f"ready {os.getpid()}")
    pause_for_ever()


def daemonise() -> None:
    """Fork, setsid, fork: the grandchild belongs to init, in a session of its own."""
    ready, tell = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            say(f"daemon {os.getpid()}")
            os.close(tell)
            pause_for_ever()
        os._exit(0)
    os.close(tell)
    os.wait()
    os.read(ready, 1)


def leaving_a_daemon() -> None:
    daemonise()
    say("bye")
    sys.exit(3)


def unmarked_child() -> None:
    """Has a child without environment in a session of its own: only the tree leads to it."""
    if os.fork() == 0:
        os.setsid()
        os.execve(sys.executable, [sys.executable, __file__, "nameless"], {})
    pause_for_ever()


def nameless() -> None:
    say(f"nameless {os.getpid()}")
    pause_for_ever()


def comet(generations: str, last_words: str) -> None:
    """Each generation forks the next and exits, so that no pid lives longer than a moment."""
    say("ready")
    for _ in range(int(generations)):
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
    Path(last_words).write_text("nobody caught me")


def chatty_at_the_end() -> None:
    """Has said much, and answers SIGTERM with more than pipes and buffers hold, then exits."""

    def last_words(*_: object) -> None:
        for _ in range(64):
            os.write(1, b"x" * 65536)
        os._exit(7)

    signal.signal(signal.SIGTERM, last_words)
    os.write(1, b"x" * 9 * 65536)  # enough for the reading side to stop reading
    os.write(2, b"ready\n")
    pause_for_ever()


def deaf() -> None:
    """Never reads its standard input."""
    say("ready")
    pause_for_ever()


def echo() -> None:
    while data := os.read(0, 65536):
        os.write(1, data)


def long_line(size: str) -> None:
    with os.fdopen(1, "wb") as out:
        out.write(b"x" * int(size) + b"\nafter\n")


def both_outputs() -> None:
    os.write(2, b"warning \xff\nno end")
    os.write(1, b"answer\n")


def environment() -> None:
    say(f"{os.environ['FAIRLEAD_RUN']} {Path.cwd()} {os.getsid(0) == os.getpid()}")


def locker(path: str) -> None:
    """Takes the lock, starts a child that outlives it, and waits to be killed."""
    from fairlead.kit.files import lock_file

    _lock = lock_file(Path(path), note="the locker")
    if (child := os.posix_spawn(sys.executable, [sys.executable, __file__, "nameless"], os.environ)) > 0:
        say(f"locked by {os.getpid()}, child {child}")
    pause_for_ever()


def daemon(mark: str) -> None:
    """Owns a stubborn child, as the program does, and waits to be killed."""
    import asyncio

    from fairlead.kit.processes import OwnedProcess

    async def own() -> None:
        argv = [sys.executable, __file__, "stubborn"]
        async with OwnedProcess.spawn(argv, cwd=Path.cwd(), env=dict(os.environ), mark=mark) as process:
            async for line in process.lines():
                say(line.decode())

    asyncio.run(own())


def sweeper(prefix: str) -> None:
    from fairlead.kit.processes import sweep

    say(repr([swept.pid for swept in sweep(prefix)]))
    say("still here")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
