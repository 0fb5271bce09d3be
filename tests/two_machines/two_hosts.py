"""Two hosts with a cable between them, and its being cut: run by test_two_hosts.py in a network of its own, where it is
root. The daemon's host is this network; the runner's is another one, at the far end of a pair of virtual interfaces."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.two_machines.harness import run, site

HERE, THERE = "10.77.0.1", "10.77.0.2"


def ip(*words: str, within: tuple[str, ...] = ()) -> None:
    subprocess.run([*within, "ip", *words], check=True)


@contextmanager
def other_host() -> Iterator[tuple[str, ...]]:
    """What to put before a command that runs there."""
    holder = subprocess.Popen(
        ["unshare", "-n", "sh", "-c", "echo ready; exec sleep infinity"], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    there = ("nsenter", "-t", str(holder.pid), "-n", "--")
    try:
        ip("link", "set", "lo", "up")
        ip("link", "add", "cable", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        ip("addr", "add", f"{HERE}/24", "dev", "cable")
        ip("link", "set", "cable", "up")
        ip("addr", "add", f"{THERE}/24", "dev", "eth0", within=there)
        ip("link", "set", "eth0", "up", within=there)
        yield there
    finally:
        holder.kill()
        holder.wait()


def is_reachable(there: tuple[str, ...], port: int) -> bool:
    probe = f"import socket; socket.create_connection(({HERE!r}, {port}), 1)"
    return subprocess.run([*there, sys.executable, "-c", probe], capture_output=True, check=False).returncode == 0


async def story(home: Path, there: tuple[str, ...]) -> None:
    async with site(home) as here:
        here.address = f"{HERE}:{here.nats_port}"
        here.more = {"FAIRLEAD_MACHINES_LISTEN": f"0.0.0.0:{here.nats_port}"}
        here.runner_launcher = (*there, *here.launcher)
        await here.start_daemon()
        await here.bring_up("gpu")
        going_on = await here.say("gpu", f"this is one\nuntil {here.gate('one')}")
        await here.until_begun("one")
        assert is_reachable(there, here.nats_port)
        ip("link", "set", "cable", "down")
        assert not is_reachable(there, here.nats_port)
        here.gate("one").touch()
        away = await here.presence("gpu", is_there=False)
        assert away.since
        waiting = await here.say("gpu", "this is two", user="other")
        assert [(await here.job(job)).state for job in (going_on, waiting)] == ["running", "queued"]
        ip("link", "set", "cable", "up")
        jobs = [await here.end_of(job) for job in (going_on, waiting)]
        assert [(job.state, job.answer) for job in jobs] == [("success", "this is one"), ("success", "this is two")]
        assert here.prompts() == ["one", "two"]
        assert len(here.journal("JobCompleted")) == 2
        print("two jobs over a cable that was cut")


if __name__ == "__main__":
    with other_host() as there:
        run(story(Path(sys.argv[1]), there))
