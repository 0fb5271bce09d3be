"""The one way to run git: an argument vector, an environment and a configuration of our own, an end that is awaited.

1. Git that the daemon runs has the daemon's rights, and a confined agent can write its project's `.git/config`, hooks
   and `.gitattributes`. So no program that stands there is executed: hooks, monitors, editors, signers and helpers are
   turned off for every command, and filters and merge drivers are never found, because a command that would run them
   reads a configuration of ours instead of the project's (`safe_common_dir`, `private_repository`).
   What git starts inside a submodule does not get this configuration: let no command go there (`status` and `diff` with
   `--ignore-submodules=dirty`, nothing with `--recurse-submodules`).
2. Neither the daemon's GIT_ variables nor the person's and the machine's configuration are seen.
3. A command ends with its caller: first SIGTERM, at which git removes its lock files, then SIGKILL. It has no mark: a
   start must not kill one that outlived a crash in the middle, since it holds locks of the person's repository for a
   moment and ends by itself.
"""

import asyncio
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from fairlead.kit.tasks import run_to_end

T = TypeVar("T")

SAFE_CONFIG: Final = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.attributesFile", os.devnull),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("safe.directory", "*"),  # its owner is not asked, because nothing of it is executed
)
_SAFE_VARIABLES: Final = {
    "HOME": os.devnull,
    "LC_ALL": "C",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_PAGER": "cat",
    "GIT_AUTHOR_NAME": "Fairlead",
    "GIT_AUTHOR_EMAIL": "fairlead@localhost",
    "GIT_COMMITTER_NAME": "Fairlead",
    "GIT_COMMITTER_EMAIL": "fairlead@localhost",
}
_PASSED_ON: Final = ("PATH", "TMPDIR")
_DISK_FULL: Final = ("No space left on device", "Disk quota exceeded")
_PARTS: Final = ((0, "KEY"), (1, "VALUE"))

MOST_OUTPUT: Final = 512 * 1024 * 1024
TERMINATE_SEC: Final = 5.0
_LOOK_SEC: Final = 0.5
_THREADS: Final = 8
_READ_BYTES: Final = 1 << 18
_STDERR_BYTES: Final = 64 * 1024


class GitMissing(Exception):  # noqa: N818 - says what happened
    def __init__(self, searched: str) -> None:
        super().__init__(f"git was not found; searched: {searched or 'nothing, PATH is empty'}")


class GitStopped(Exception):  # noqa: N818 - says what happened
    """The caller has ended this work."""


class GitFailed(Exception):  # noqa: N818 - says what happened
    """Git said no. `stderr` are its words, which may hold file names: data, to be escaped where they are shown."""

    def __init__(self, arguments: Sequence[str], code: int, stderr: str) -> None:
        words = " / ".join(line.strip() for line in stderr.splitlines() if line.strip())
        super().__init__(f"git {arguments[0]} ended with {code}: {words[-400:]}")
        self.code = code
        self.stderr = stderr

    @property
    def is_disk_full(self) -> bool:
        return any(words in self.stderr for words in _DISK_FULL)


class GitPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a command runs. `variables` name repository, work tree and index (GIT_DIR …); without GIT_DIR, git looks
    for the repository of `directory` itself. `config` comes after the safe one, and may not weaken it."""

    directory: str
    variables: Mapping[str, str] = {}
    config: tuple[tuple[str, str], ...] = ()


class GitOutput(msgspec.Struct, frozen=True, kw_only=True):
    """`is_cut`: there was more than the caller wanted, and git was ended."""

    stdout: bytes
    stderr: str
    code: int
    is_cut: bool = False

    @property
    def line(self) -> str:
        """The one line that it printed; names of files may hold bytes that are no text."""
        return os.fsdecode(self.stdout).removesuffix("\n")


class Git:
    """`environment` is the daemon's, of which git sees where programs and temporary files are."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        passed_on = {name: environment[name] for name in _PASSED_ON if name in environment}
        self._env = {**passed_on, **_SAFE_VARIABLES}
        self._program = shutil.which("git", path=environment.get("PATH", ""))
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="git")

    @property
    def program(self) -> str:
        """Where git is; empty if there is none."""
        return self._program or ""

    async def run(
        self,
        arguments: Sequence[str],
        *,
        place: GitPlace,
        stdin: bytes = b"",
        codes: Collection[int] = (0,),
        limit_sec: float | None = None,
    ) -> GitOutput:
        """One command. Raises GitFailed for an exit code that is none of `codes`, GitMissing, TimeoutError."""
        return await self.work(
            lambda calls: calls.run(arguments, place=place, stdin=stdin, codes=codes), limit_sec=limit_sec
        )

    async def work(self, steps: Callable[["GitCalls"], T], *, limit_sec: float | None = None) -> T:
        """Several commands and what lies between them, in a thread. A cancelled caller, or one whose time is up, gets
        on when the thread has ended, git included. Raises what `steps` raises, and TimeoutError."""
        calls = GitCalls(self._program, self._env)
        running = asyncio.get_running_loop().run_in_executor(self._threads, steps, calls)
        try:
            async with asyncio.timeout(limit_sec):
                return await asyncio.shield(running)
        finally:
            if not running.done():
                calls.stop()
                await run_to_end(_until_done(running))

    def close(self) -> None:
        """After the last command."""
        self._threads.shutdown(wait=False)


async def _until_done(running: asyncio.Future[T]) -> None:
    await asyncio.wait([running])
    if not running.cancelled():
        running.exception()  # read, because its caller has another one to raise


class GitCalls:
    """Commands one after the other, in the thread that calls. `stop` may come from any other."""

    def __init__(self, program: str | None, env: Mapping[str, str]) -> None:
        self._program = program
        self._env = env
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped_at: float | None = None

    def run(
        self,
        arguments: Sequence[str],
        *,
        place: GitPlace,
        stdin: bytes = b"",
        codes: Collection[int] = (0,),
        most: int = MOST_OUTPUT,
    ) -> GitOutput:
        """At most about `most` bytes of output are read. Raises GitFailed, GitMissing, GitStopped, OSError."""
        process = self._start(arguments, place)
        try:
            stdout, stderr = self._exchange(process, stdin, most)
        finally:
            self._end(process)
        self.check()
        is_cut = len(stdout) >= most
        code = 0 if is_cut else process.returncode
        if code not in codes:
            raise GitFailed(arguments, code, stderr.decode(errors="replace"))
        return GitOutput(stdout=stdout, stderr=stderr.decode(errors="replace"), code=code, is_cut=is_cut)

    def check(self) -> None:
        """Raises GitStopped once `stop` was called: for long steps between two commands."""
        if self._stopped_at is not None:
            raise GitStopped

    def stop(self) -> None:
        with self._lock:
            self._stopped_at = time.monotonic()
            if self._process is not None:
                _send(self._process, signal.SIGTERM)

    def _start(self, arguments: Sequence[str], place: GitPlace) -> subprocess.Popen[bytes]:
        if self._program is None:
            raise GitMissing(self._env.get("PATH", ""))
        with self._lock:
            self.check()
            self._process = subprocess.Popen(
                [self._program, "--no-pager", *arguments],
                cwd=place.directory,
                env={**self._env, **place.variables, **_as_variables((*place.config, *SAFE_CONFIG))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that a terminal's Ctrl-C does not reach it, and all that it starts ends
            )
            return self._process

    def _exchange(self, process: subprocess.Popen[bytes], stdin: bytes, most: int) -> tuple[bytes, bytes]:
        """Feed and read at once, since a full pipe stops git. After `stop`, it is over within some seconds."""
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = bytearray(), bytearray()
        left = memoryview(stdin)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, out)
            selector.register(process.stderr, selectors.EVENT_READ, err)
            if stdin:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE)
            else:
                process.stdin.close()
            while selector.get_map() and len(out) < most:
                for key, events in selector.select(_LOOK_SEC):
                    if events & selectors.EVENT_WRITE:
                        left = _write_some(key.fd, left)
                        if not left:
                            selector.unregister(process.stdin)
                            process.stdin.close()
                    elif not _read_some(key.fd, key.data):
                        selector.unregister(key.fileobj)
                self._insist(process)
        return bytes(out), bytes(err[-_STDERR_BYTES:])

    def _insist(self, process: subprocess.Popen[bytes]) -> None:
        if self._stopped_at is not None and time.monotonic() > self._stopped_at + TERMINATE_SEC:
            _send(process, signal.SIGKILL)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Git has ended by itself, unless its output was cut or its thread failed."""
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):  # what was not written goes nowhere
                    pipe.close()
        try:
            process.wait(TERMINATE_SEC)
        except subprocess.TimeoutExpired:
            _send(process, signal.SIGKILL)
            process.wait()
        with self._lock:
            self._process = None


def _as_variables(config: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Not by `-c`, where a name with an equals sign means another one."""
    numbered = {f"GIT_CONFIG_{part}_{i}": pair[at] for i, pair in enumerate(config) for at, part in _PARTS}
    return {"GIT_CONFIG_COUNT": str(len(config)), **numbered}


def _write_some(fd: int, left: memoryview) -> memoryview:
    try:
        return left[os.write(fd, left[:_READ_BYTES]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return memoryview(b"")  # git has ended, and its exit code says why


def _read_some(fd: int, into: bytearray) -> int:
    data = os.read(fd, _READ_BYTES)
    into += data
    return len(data)


def _send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
