"""What a prompt tells the echo agent to do: lines that begin with a known /word are orders, all others are words.

Pure: nothing is done here.
"""

from typing import Any, Final

import msgspec

from fairlead.errors import Code

ORDERS: Final[dict[str, str]] = {
    "slow": "/slow 3                            wait three seconds",
    "alone": "/alone 3                           wait three seconds, and take nothing that you steer meanwhile",
    "recall": "/recall                            say what was said to me in this talk",
    "tool": "/tool Bash ls -la                  pretend to use a tool",
    "write": "/write notes.txt some words        write a file in the project (without words: remove it)",
    "todo": "/todo +look | >fix it | test it    keep a list: done, at work, to do",
    "task": "/task 2 look at the docs           let a sub-agent work for two seconds",
    "title": "/title Fix the parser              call the session so",
    "think": "/think about it                    think aloud",
    "ask": "/ask rm -rf build                  ask for permission to run a command",
    "question": "/question Which colour? | red | blue   ask you something (`||` between several questions)",
    "plan": "/plan first this, then that        propose a plan",
    "image": "/image 3                           send so many small pictures",
    "usage": "/usage 1200 300 0.01               report tokens in, tokens out and US dollars",
    "long": "/long 5000                         say 5000 characters",
    "big-line": "/big-line 300000                   say them without a single space",
    "unasked": "/unasked the build is green        speak by itself once this turn is over",
    "transient": "/transient                         fail once, in a way that is worth a second attempt",
    "fail": "/fail E_CLI_EXIT_NONZERO           fail with this code",
    "hang": "/hang                              never come back, until interrupted (`/hang deaf`: not even then)",
    "help": "/help                              say all this",
}

HELP: Final = "\n".join(
    (
        "I am the built-in echo agent. I repeat what you say, name the session I was given, and cost nothing.",
        "Lines that begin with one of these make me do more; several are followed in order:",
        "",
        "```",
        *ORDERS.values(),
        "```",
    )
)


class ScriptStep(msgspec.Struct, frozen=True):
    """`order` is a word of ORDERS, or `say` for words to repeat."""

    order: str
    rest: str = ""

    def number(self, default: float) -> float:
        """The first word as a number that a clock can wait for; `default` if it is none."""
        try:
            number = float(self.rest.split()[0])
        except (IndexError, ValueError):
            return default
        return min(number, 1e6) if number >= 0 else default


def read_script(prompt: str) -> list[ScriptStep]:
    """Neighbouring words are one step; a /word that is no order (a path, say) is words too."""
    steps: list[ScriptStep] = []
    for line in prompt.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word.startswith("/") and word[1:] in ORDERS:
            steps.append(ScriptStep(word[1:], rest.strip()))
        elif steps and steps[-1].order == "say":
            steps[-1] = ScriptStep("say", f"{steps[-1].rest}\n{line}")
        else:
            steps.append(ScriptStep("say", line))
    return [step for step in steps if step.order != "say" or step.rest.strip()]


def tool_input(name: str, what: str) -> dict[str, Any]:
    """The input such a tool would have been given."""
    field = {"Bash": "command", "Read": "file_path", "Edit": "file_path", "Write": "file_path"}.get(name, "input")
    return {field: what}


def failure_of(step: ScriptStep) -> tuple[Code, str]:
    word, _, message = step.rest.partition(" ")
    if word not in Code.__members__:
        return Code.E_AGENT_ERROR, step.rest or "The echo agent was told to fail."
    return Code(word), message or f"The echo agent was told to fail with {word}."
