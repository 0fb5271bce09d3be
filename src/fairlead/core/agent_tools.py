"""The tools that Fairlead itself offers to agents: their names, what they take, who calls them. Knows no protocol."""

from typing import Annotated, Final, TypeAlias

import msgspec

from fairlead.core.ids import SessionKeyText

MAX_TITLE: Final = 80
MAX_TEXT: Final = 32_000
"""Characters of one message: whatever is longer is an answer or a file."""
MAX_CHOICES: Final = 25
MAX_CHOICE: Final = 100
MAX_QUESTION: Final = 2_000

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]


class ToolHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a capability was given to: the agent that runs for this session, in this directory. `mark` is the mark of
    its processes. An empty `session_key` is that of an agent which was started before it has a session."""

    mark: str
    project_path: str
    session_key: SessionKeyText = SessionKeyText("")
    generation: int = 0


class _Arguments(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class SendMessage(_Arguments, frozen=True):
    """Send the person a short message now, while you go on working. Your final answer reaches them anyway: do not
    repeat it here."""

    text: Annotated[Text, msgspec.Meta(description="The message, in Markdown.")]


class SendFile(_Arguments, frozen=True):
    """Send the person a file of the project, e.g. a report or a picture. Pictures are shown in the conversation."""

    path: Annotated[
        str,
        msgspec.Meta(min_length=1, max_length=4096, description="Below the project's directory; absolute or relative."),
    ]
    caption: Annotated[str, msgspec.Meta(max_length=MAX_TEXT, description="Words that go with the file.")] = ""


class AskUser(_Arguments, frozen=True):
    """Ask the person something. This returns at once, without the answer: END YOUR TURN then. The answer comes as your
    next message, perhaps hours later; nothing of yours has to wait for it."""

    question: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_QUESTION)]
    choices: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CHOICE)], ...],
        msgspec.Meta(
            max_length=MAX_CHOICES,
            description="Answers to choose from; the person may always write their own. Without choices they write.",
        ),
    ] = ()
    several: Annotated[bool, msgspec.Meta(description="Whether more than one may be chosen.")] = False


class SetTitle(_Arguments, frozen=True):
    """Give this conversation a name that says what it is about; it becomes the name of its thread. A name that a
    person gave stays."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TITLE)]


class SpawnTask(_Arguments, frozen=True):
    """Start another agent in a session of its own, in this project, for a part of the work that can be done apart. This
    returns at once, without a result: if you need it, END YOUR TURN when you have nothing else to do. The result comes
    as a message of its own."""

    task: Annotated[Text, msgspec.Meta(description="All that the other agent must know: it sees nothing of this talk.")]
    agent: Annotated[str, msgspec.Meta(max_length=60, description="Which agent; yours if you name none.")] = ""


class ScheduleTask(_Arguments, frozen=True):
    """Have yourself called again in this session, once or again and again. The words come as a message of its own at
    that time, so that you need not wait for it."""

    when: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=200,
            description="Exactly: a cron expression (`0 9 * * 1-5`), or a date with a time (`2027-01-31 18:00`).",
        ),
    ]
    text: Annotated[Text, msgspec.Meta(description="What you are to be told then.")]
    zone: Annotated[str, msgspec.Meta(max_length=60, description="A time zone such as Europe/Berlin.")] = ""


ToolArguments: TypeAlias = SendMessage | SendFile | AskUser | SetTitle | SpawnTask | ScheduleTask
ARGUMENTS: Final[dict[str, type[ToolArguments]]] = {
    "send_message": SendMessage,
    "send_file": SendFile,
    "ask_user": AskUser,
    "set_title": SetTitle,
    "spawn_session": SpawnTask,
    "schedule": ScheduleTask,
}
TOOL_NAMES: Final = tuple(ARGUMENTS)

NEEDED_TOOL: Final = {"send_file": "Read", "spawn_session": "Edit", "schedule": "Bash"}
"""The tool of a project's tier without which an agent does not have this one: who may not read files may not send them,
who may change nothing starts nobody, and only who may run commands works without being asked.
A tool that is not listed only talks to the person, and no tier withholds it."""
