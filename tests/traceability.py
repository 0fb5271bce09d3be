"""Which tests prove which requirement: reads the marks of all tests without running them, and writes the table.

python tests/traceability.py          writes docs/requirements.md
python tests/traceability.py --check  only says whether it is up to date
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
TABLE: Final = ROOT / "docs" / "requirements.md"

GROUPS: Final = {
    "A": "Owner's bot, CLIs, reliable JSON store",
    "B": "ACP agents",
    "C": "Sessions and entries",
    "D": "Bindings and delivery",
    "E": "Runtimes",
    "F": "Work on code",
    "G": "The console in the browser",
    "H": "More than one machine",
}

REQUIREMENTS: Final[dict[str, str]] = {
    "A1": "One gateway connection; interactions acknowledged within 3 s; what may take longer is an ordinary message",
    "A2": "Rate limits obeyed; status edits coalesced, the newest wins; deliveries tried again with growing pauses",
    "A3": "Archived threads are reopened; locked or deleted ones give E_THREAD_ACCESS_FAILED",
    "A4": "Per-turn runtimes: spawn, stream, exit; always an argument vector, never a shell",
    "A5": "Many threads on one project, each with its own resume key; never «latest»",
    "A6": "`/session open` leads back to the original thread; a session never moves",
    "A7": "Journal, snapshot and config files: durable before acting, atomic replacement, start = snapshot + replay",
    "A8": "Enqueued exactly once, strict order per session, no prompt reaches an agent twice; unknown_after_crash",
    "A9": "Resume keys per session, tool and project; switching and back resumes both",
    "A10": "Command lines for new and resumed turns; a prompt is never read as an option",
    "A11": "Gemini's contract; one automatic second attempt, for a recognised transient error only",
    "A12": "Project, session, status, tool and retry commands: arguments, preconditions, output, error codes",
    "A13": "Only the owner and the allow-list are served, on every path",
    "A14": "One status message per running job, edited in place",
    "A15": "Formats of config.json, snapshot.json and events.ndjson; gaps, repeats and bad checksums stop the start",
    "A16": "Job states and what may follow what; retry, cancel, amend, withdraw; session state derived",
    "A17": "The limits, and what happens past each: E_QUEUE_FULL, E_CLI_TIMEOUT",
    "A18": "Every error code reachable, each shown with what to do next",
    "A19": "logs/app.ndjson and logs/job/<job_id>.log, raw but for known secrets",
    "A20": "The twelve acceptance stories, through the real gateway code",
    "A21": "Starts at boot; .env.example; CLI versions checked; a self-check at start",
    "A22": "Intents, and an invite link with exactly the permissions that are needed",
    "B1": "/projects, /project add, /agent start | stop | kill | status | model | usage",
    "B2": "Projects from PROJECTS and FAIRLEAD_PROJECT_ROOT, named and numbered",
    "B3": "Thread message → prompt → answer in the thread, typing only while waiting",
    "B4": "ACP over stdio; permissions and questions answered by a person; nobody in time means no",
    "B5": "Graceful stop; kill ends the whole process tree at once",
    "B6": "Watchdog: 30 minutes without an update end the session, and say so",
    "B7": "Created, Active, Prompting, Closed, and what is allowed in each",
    "B8": "Errors by class: what the person sees, what is logged at which level",
    "B9": "Acknowledged in 3 s, first chunk within 5 s, ten sessions at once",
    "B10": "SIGTERM: intake closes, running turns get their time, queued jobs stay, all is over in time",
    "B11": "Only registered project paths are reachable; symlinks and `..` do not escape",
    "B12": "Splitting at 2000 characters, at line ends, code blocks closed and reopened",
    "B13": "The tool line in the status message",
    "B14": "Tokens never in state, logs, messages or an agent's environment",
    "B15": "Switching the active project, and guidance when none is selected",
    "C1": "Session keys: builders and parser are exact inverses; malformed parts are refused",
    "C2": "Linked identities share one session across channels",
    "C3": "People are isolated; a channel or thread is one session for all allowed in it",
    "C4": "A session lasts until `reset`, across restarts; reset forgets the talk and keeps the history",
    "C5": "HTTP: userId required and one's own; bearer token; Idempotency-Key; streaming and not",
    "C6": "Terminal: user `local` by default, another by option or environment",
    "C7": "Discord: DM → user, guild channel → channel, thread → thread session",
    "C8": "The echo runtime proves on every channel which session key reached the agent",
    "C9": "Memory shared across entries and isolated between people, with real agent CLIs",
    "C10": "At least 90 % coverage of session-key and entry-mapping code, enforced",
    "D1": "Binding service: bind, list, resolve, touch, unbind; rebound; durable",
    "D2": "One router: own binding, else the only one, else fallback, or nowhere with fail_closed; always a reason",
    "D3": "Target and content are separate steps; no silent re-route; fallbacks visible",
    "D4": "A session can start another; its completion goes to its own thread or back to the asker",
    "D5": "The Discord side: threads created or reused, webhook identity, rotated token",
    "D6": "Two bound sessions of one parent never post twice or into the parent",
    "D7": "The core names no channel: another adapter needs no change in it",
    "E1": "One interface, invoke() → EngineEvent; runtimes declare their capabilities",
    "E2": "Claude: every flag from its setting; a fresh session id journalled first, then only resumed",
    "E3": "Tool surface: defaults, RUNTIME_TOOLS, PERMISSIONS.json tiers; malformed means tightest",
    "E4": "Session scanning: tool events from the CLI's own log; degrades quietly",
    "E5": "Tool-aware streaming: activity while tools run, then the clean answer",
    "E6": "Fallback model, budget, appended prompt, workspace context files",
    "E7": "Multi-turn pool: idle, busy, dead; limits; LRU eviction; fallback to one-shot",
    "E8": "Image input with every security control",
    "E9": "Image output: extraction, de-duplication, attachment limits",
    "E10": "Triggers: message, reaction, schedule; images only with the first turn",
    "F1": "Snapshots of the work tree at the start and end of each turn; the person's own git is untouched",
    "F2": "`/changes` of a turn or a session: files, lines, renames, the diff, on every channel",
    "F3": "A turn that changed files ends with a card: files, tests, time, tokens, cost, context, buttons",
    "F4": "Undo and redo of turns: only what the turn changed, never what a person changed since",
    "F5": "A worktree for a session: shown, merged, discarded, cleaned up; nothing uncommitted is lost",
    "F6": "Steering: a text goes into the running turn; taken, queued or too late, never run as a job too",
    "F7": "Fork: a new session that begins with all that was said so far",
    "F8": "Adopt: a conversation goes on with what was begun in the agent's own terminal",
    "F9": "Hand-off to the terminal and back; two writers on one agent session are impossible",
    "G1": "*Now*: open questions with their buttons first, then what failed, runs, waits and was not delivered",
    "G2": "*Session*: what was said as Markdown, tool lines, live text, composer, cancel, retry, reset, model, mode",
    "G3": "Text from outside is shown and never runs: script, HTML, CSS, bidi, huge answers",
    "G4": "Getting in: a one-time link for a cookie; logins are listed and ended; guests, strangers, other sites",
    "G5": "Live: numbered changes, a ring, an honest gap; focus, scroll and a half-written prompt survive",
    "G6": "*Why*: the story of a message step by step, and the account with a list behind each number",
    "G7": "A real browser on a phone and a desk, light and dark: keyboard alone, axe finds nothing serious",
    "G8": "The first page is small, and an open page costs the daemon little",
    "G9": "*Changes*, *Spend*, *Schedules*, *Projects*, *Agents*, *Health*, search",
    "H1": "Joining: a key for each machine, runners that dial out, list, rename, remove; one machine needs none",
    "H2": "Placement is a fact: projects, sessions, resume keys, worktrees and undo belong to a machine",
    "H3": "A runner runs every runtime behind the same port, with a small journal of its own",
    "H4": "Orders and facts: numbered, owed until they are safe, sent again, repeats dropped, gaps asked for",
    "H5": "Epochs: of two processes with one name, or of a restored copy, the older gives and takes no orders",
    "H6": "Daemon, runner, server or wire fail at any moment: no prompt twice, no answer lost or doubled",
    "H7": "A runner's key reaches its own machine's subjects and nothing else; orders carry no secrets",
    "H8": "People see the machine: on questions, statuses and answers; what waits for an absent one, and since when",
}

STILL_OPEN: Final[frozenset[str]] = frozenset()
"""What is not wholly there yet, though tests may prove parts of it. Whoever completes one takes it out of here."""


class Proof(NamedTuple):
    requirement: str
    file: str
    test: str


def proofs(root: Path = ROOT / "tests") -> list[Proof]:
    """Every mark on every test, in the order of files and lines."""
    found: list[Proof] = []
    for path in sorted((*root.rglob("test_*.py"), *root.rglob("*_contract.py"))):
        name = path.relative_to(root.parent).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [Proof(id_, name, test) for test, ids in _marked(tree.body, _module_marks(tree)) for id_ in ids]
    return found


def _module_marks(tree: ast.Module) -> list[str]:
    assigned = (n for n in tree.body if isinstance(n, ast.Assign))
    marks = (n.value for n in assigned if any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in n.targets))
    return [id_ for value in marks for id_ in _ids(value)]


def _marked(body: list[ast.stmt], inherited: list[str]) -> Iterator[tuple[str, list[str]]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or node.name.endswith("Contract")):
            yield from _marked(node.body, [*inherited, *_decorated(node)])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name, list(dict.fromkeys([*inherited, *_decorated(node)]))
        elif isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".TestCase"):
            yield ast.unparse(node.targets[0]), inherited


def _decorated(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [id_ for decorator in node.decorator_list for id_ in _ids(decorator)]


def _ids(expression: ast.expr) -> Iterator[str]:
    """The arguments of every `….mark.req(…)` in an expression."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.req"):
            yield from (ast.literal_eval(argument) for argument in node.args)


def table() -> str:
    by_id: dict[str, list[Proof]] = {id_: [] for id_ in REQUIREMENTS}
    for proof in proofs():
        by_id.setdefault(proof.requirement, []).append(proof)
    unproven = [id_ for id_ in REQUIREMENTS if id_ in STILL_OPEN or not by_id[id_]]
    lines = [
        "# Requirements and the tests that prove them",
        "",
        "Made by `make docs` from the marks of the tests (`@pytest.mark.req`); a test fails when it is stale.",
        "",
        f"{len(REQUIREMENTS) - len(unproven)} of {len(REQUIREMENTS)} requirements are proven by tests."
        + (f" Open: {', '.join(unproven)}." if unproven else ""),
    ]
    for letter, title in GROUPS.items():
        lines += ["", f"## {letter}. {title}"]
        for id_ in (i for i in REQUIREMENTS if i[0] == letter):
            lines += [
                "",
                f"### {id_}",
                "",
                f"{REQUIREMENTS[id_]}.",
                "",
                *_proof_lines(by_id[id_], in_part=id_ in STILL_OPEN),
            ]
    return "\n".join(lines) + "\n"


def _proof_lines(proven: list[Proof], *, in_part: bool) -> Iterator[str]:
    if not proven:
        yield "*open*"
    elif in_part:
        yield from ("*open*; proven so far:", "")
    for file in dict.fromkeys(p.file for p in proven):
        tests = [p.test for p in proven if p.file == file]
        yield f"- [{file}](../{file})"
        yield from (f"  - {test.removeprefix('test_').replace('_', ' ')}" for test in tests)


def main() -> int:
    wanted = table()
    if "--check" in sys.argv:
        return 0 if TABLE.exists() and TABLE.read_text(encoding="utf-8") == wanted else 1
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
