"""Installs the pinned agents from npm into a cache that all clones share. Knows no registry: npm does."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

CLIS = {
    "@anthropic-ai/claude-code": "2.1.325",
    "@openai/codex": "0.166.0",
    "@google/gemini-cli": "0.61.0",
    "@agentclientprotocol/claude-agent-acp": "0.99.1",
    "@agentclientprotocol/codex-acp": "2.6.0",
    "opencode-ai": "1.18.33",
    "@qwen-code/qwen-code": "0.24.4",
    "@github/copilot": "1.0.102",
}
NODE = "24.21.0"  # taken from the npm package `node` where the machine has none that is new enough
OLDEST_NODE = 22


class Agents(msgspec.Struct, frozen=True, kw_only=True):
    claude: Path
    codex: Path
    gemini: Path
    claude_agent_acp: Path
    codex_acp: Path
    opencode: Path
    qwen: Path
    copilot: Path
    node: Path
    bin_dir: Path


def installed_agents() -> Agents:
    """Where the CLIs are; the first call on a machine installs them."""
    own_node = machine_node()
    packages = CLIS if own_node else CLIS | {"node": NODE}
    directory = cache_root() / directory_name(packages)
    if not directory.exists():
        with _one_installer(directory):
            if not directory.exists():
                _install(packages, directory)
    return _agents_in(directory, own_node)


def cache_root() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "fairlead" / "agents"


def directory_name(packages: dict[str, str]) -> str:
    """`claude-code-2.1.325_codex-0.166.0_…`: another set of versions is another directory."""
    return "_".join(f"{name.rsplit('/', 1)[-1]}-{version}" for name, version in packages.items())


def machine_node() -> Path | None:
    """The machine's Node if it is new enough for every CLI."""
    node = shutil.which("node")
    if node is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return Path(node) if major_version(said) >= OLDEST_NODE else None


def major_version(said: str) -> int:
    found = re.match(r"v(\d+)\.", said)
    return int(found.group(1)) if found else 0


def _agents_in(directory: Path, own_node: Path | None) -> Agents:
    bin_dir = directory / "node_modules" / ".bin"
    return Agents(
        claude=bin_dir / "claude",
        codex=bin_dir / "codex",
        gemini=bin_dir / "gemini",
        claude_agent_acp=bin_dir / "claude-agent-acp",
        codex_acp=bin_dir / "codex-acp",
        opencode=bin_dir / "opencode",
        qwen=bin_dir / "qwen",
        copilot=bin_dir / "copilot",
        node=own_node or bin_dir / "node",
        bin_dir=bin_dir,
    )


@contextmanager
def _one_installer(directory: Path) -> Iterator[None]:
    """Test workers start together; all but the first wait here and then find the work done."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with (directory.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(packages: dict[str, str], directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(
            "The agent tests need npm to fetch the agents, and it is not on PATH. Install Node, then run again."
        )
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    print(f"Installing {', '.join(wanted)} into {directory} (once, about 2 GB) ...", file=sys.stderr, flush=True)
    began = time.monotonic()
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=directory.parent))
    try:
        _npm_install(npm, wanted, building)
        building.rename(directory)  # only a whole installation ever carries the name
    finally:
        shutil.rmtree(building, ignore_errors=True)
    print(f"Installed in {time.monotonic() - began:.0f} s.", file=sys.stderr, flush=True)


def _npm_install(npm: str, wanted: list[str], building: Path) -> None:
    # Install scripts must run: claude's and opencode's link a native binary, node's fetches the one for this machine.
    command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    (building / "package.json").write_text('{"private": true}')
    done = subprocess.run([*command, *wanted], cwd=building, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise SystemExit(f"npm could not install the agents (exit {done.returncode}):\n{said}")


if __name__ == "__main__":
    agents = installed_agents()
    print(f"{len(CLIS)} agents and {agents.node} are ready in {agents.bin_dir}")
