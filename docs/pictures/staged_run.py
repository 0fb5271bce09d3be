"""The run that both pictures are taken from: a small project with a mistake in it, the real Claude Code, and a model on
loopback whose words are fixed. Everything else in the pictures is what Fairlead and Claude Code made of it.

It needs the agents of `tests/agents/install.py`, which the first run installs.
"""  # noqa: INP001 - a script's neighbour, not a package

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.agents.model_server.replies import Reply, Run, Say, Usage, Use

FIRST_PROMPT: Final = "The cart ignores the discount. Fix it."
SECOND_PROMPT: Final = "Run the tests and commit."
TEST_COMMAND: Final = "pytest -q"
CART: Final = """\
def total(prices, discount=0):
    return sum(prices)
"""
TEST: Final = """\
from cart import total


def test_the_discount_counts():
    assert total([40, 60], discount=10) == 90
"""


def make_project(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cart.py").write_text(CART)
    (directory / "test_cart.py").write_text(TEST)
    subprocess.run(["git", "init", "-q", str(directory)], check=True)


def offer_pytest(home: Path) -> None:
    """Puts the test runner of this checkout where the agent finds it."""
    directory = home / "bin"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pytest").symlink_to(Path(sys.executable).parent / "pytest")


def first_answer(project: Path) -> tuple[Reply, ...]:
    """Looks at the file, changes it (which has to be allowed), says what was done."""
    cart = str(project / "cart.py")
    change = {
        "file_path": cart,
        "old_string": "    return sum(prices)",
        "new_string": "    return sum(prices) - discount",
    }
    return (
        Reply((Say("I will look at `cart.py` first."), Use("Read", {"file_path": cart})), Usage(11_200, 60)),
        Reply((Use("Edit", change),), Usage(11_500, 120)),
        Reply((Say(FIRST_ANSWER),), Usage(11_900, 90)),
    )


FIRST_ANSWER: Final = """\
`total` took the discount and never used it. It is subtracted now:

```python
return sum(prices) - discount
```

The test `test_the_discount_counts` should pass. Shall I run it?"""


def second_answer() -> tuple[Reply, ...]:
    """Runs the tests, which has to be allowed."""
    return (
        Reply((Say("The tests first."), Run(TEST_COMMAND)), Usage(12_300, 70)),
        Reply((Say("**1 test passed.** I have not committed yet."),), Usage(12_600, 40)),
    )
