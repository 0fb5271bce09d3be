"""discord.py is loaded for text alone, wherever what it takes for voice is installed."""

import subprocess
import sys
from pathlib import Path

from tests.cli.harness import surroundings

PROGRAM = """
import logging, sys
logging.basicConfig()
import fairlead.channels.discord.channel, discord
discord.Client(intents=discord.Intents.default())
print(sorted({'nacl', 'davey', 'frozenlist._frozenlist'} & set(sys.modules)))
import nacl.secret
"""


def test_discord_py_loads_nothing_for_voice_and_says_nothing_of_it(tmp_path: Path):
    """The last line of the program: PyNaCl is installed, and whoever needs it can still load it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=surroundings(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
