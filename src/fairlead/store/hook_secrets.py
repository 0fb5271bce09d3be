"""The secrets of webhooks: one file each, 0600, below the state directory. The journal and the logs have none."""

import secrets
from collections.abc import Awaitable, Callable, Container
from pathlib import Path
from typing import Any, Final

from fairlead.kit.files import REAL_DISK, Disk, make_private_directory, read_if_there, replace_durably

HOOKS_NAME: Final = "hook-secrets"


def make_secret() -> str:
    return secrets.token_hex(32)


def _keep_quiet(_secret: str) -> None:
    pass


class FileHookSecrets:
    """`learn` is told every secret, so that no log shows it. A secret that was read once is kept in memory."""

    def __init__(
        self,
        state_directory: Path,
        *,
        disk: Disk = REAL_DISK,
        offload: Callable[[Callable[[], Any]], Awaitable[Any]],
        make: Callable[[], str] = make_secret,
        learn: Callable[[str], None] = _keep_quiet,
    ) -> None:
        self._directory = state_directory / HOOKS_NAME
        self._disk = disk
        self._offload = offload
        self._make = make
        self._learn = learn
        self._known: dict[str, str] = {}

    async def make(self, name: str) -> str:
        """A new secret, durable when this returns."""
        secret = self._make()
        self._learn(secret)
        await self._offload(lambda: self._write(name, secret))
        self._known[name] = secret
        return secret

    async def read(self, name: str) -> str:
        """Empty if there is none."""
        if name not in self._known:
            data = await self._offload(lambda: read_if_there(self._directory / name, disk=self._disk))
            self._known[name] = "" if data is None else data.decode("ascii", "replace").strip()
            self._learn(self._known[name])
        return self._known[name]

    async def forget(self, name: str) -> None:
        self._known.pop(name, None)
        await self._offload(lambda: self._remove(name))

    def forget_all_but(self, names: Container[str]) -> None:
        """At a start, before anybody uses one."""
        if self._disk.exists(self._directory):
            for name in self._disk.listdir(self._directory):
                if name not in names:
                    self._remove(name)

    def _write(self, name: str, secret: str) -> None:
        make_private_directory(self._directory, disk=self._disk)
        replace_durably(self._directory / name, f"{secret}\n".encode(), disk=self._disk)

    def _remove(self, name: str) -> None:
        if self._disk.exists(self._directory / name):
            self._disk.unlink(self._directory / name)
