"""The secrets of hooks: each in a file of its own that only its owner reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.store.hook_secrets import HOOKS_NAME, FileHookSecrets

pytestmark = pytest.mark.anyio


async def at_once(work: Callable[[], Any]) -> Any:
    return work()


async def test_a_secret_is_private_found_again_and_forgotten(tmp_path: Path):
    learnt: list[str] = []
    secrets = FileHookSecrets(tmp_path, offload=at_once, learn=learnt.append)
    made = await secrets.make("ci")
    path = tmp_path / HOOKS_NAME / "ci"
    assert (len(made), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (64, 0o600, 0o700)
    again = FileHookSecrets(tmp_path, offload=at_once, learn=learnt.append)
    assert await again.read("ci") == made
    assert learnt == [made, made]
    await again.forget("ci")
    assert (await again.read("ci"), path.exists()) == ("", False)


async def test_a_start_removes_the_secrets_that_no_hook_has(tmp_path: Path):
    secrets = FileHookSecrets(tmp_path, offload=at_once)
    secrets.forget_all_but({})
    kept, gone = await secrets.make("ci"), await secrets.make("old")
    FileHookSecrets(tmp_path, offload=at_once).forget_all_but({"ci": 1})
    fresh = FileHookSecrets(tmp_path, offload=at_once)
    assert (await fresh.read("ci"), await fresh.read("old")) == (kept, "")
    assert kept != gone
