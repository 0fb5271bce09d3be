"""People see what the agent is doing, in words, and nothing that an agent's input can turn into a trick."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.render.tools import LABEL_LIMIT, tool_label
from fairlead.render.words import CATALOGUES

STORIES = [
    ("Read", {"file_path": "/srv/app/src/file.ts"}, "Reading .../file.ts"),
    ("Read", {"file_path": "README.md"}, "Reading README.md"),
    ("Read", {"file_path": "C:\\code\\app.cs"}, "Reading .../app.cs"),
    ("Read", {}, "Reading something"),
    ("Write", {"file_path": "/a/b.py", "content": "x"}, "Writing .../b.py"),
    ("Edit", {"file_path": "/a/__init__.py"}, "Editing `.../__init__.py`"),
    ("NotebookEdit", {"notebook_path": "/a/b.ipynb"}, "Editing .../b.ipynb"),
    ("Bash", {"command": "npm test\nrm -rf x"}, "Running command… npm test"),
    ("Bash", {"command": "echo $(date) > out"}, "Running command… `echo $(date) > out`"),
    ("Bash", {}, "Running command…"),
    ("Grep", {"pattern": "TODO"}, "Searching for TODO"),
    ("Glob", {"pattern": "src/**/*.ts"}, "Finding files: `src/**/*.ts`"),
    ("WebFetch", {"url": "https://user:pw@example.org/a?b=c"}, "Fetching example.org"),
    ("WebFetch", {"url": "http://[broken"}, "Fetching something"),
    ("WebSearch", {"query": "asyncio timeouts"}, "Searching the web for asyncio timeouts"),
    ("Task", {"description": "Review the diff", "prompt": "long"}, "Working on a sub-task: Review the diff"),
    ("TodoWrite", {"todos": []}, "Updating the plan"),
    ("ExitPlanMode", {"plan": "x"}, "Presenting the plan"),
    ("AskUserQuestion", {}, "Asking a question"),
    ("mcp__github__create_issue", {"title": "x"}, "Using create issue (github)"),
    ("mcp_tool_call", {"server": "github", "tool": "get_me"}, "Using get me (github)"),
    ("mcp__alone", {}, "Using alone"),
    ("command_execution", {"command": "/bin/bash -lc 'ls'"}, "Running command… /bin/bash -lc 'ls'"),
    ("shell", {"command": ["bash", "-lc", "make test"]}, "Running command… make test"),
    ("shell", {"command": ["ls", "-la"]}, "Running command… ls -la"),
    ("file_change", {"changes": [{"path": "/a/b/c.rs", "kind": "update"}]}, "Editing .../c.rs"),
    ("run_shell_command", {"command": "go build ./..."}, "Running command… go build ./..."),
    ("read_file", {"absolute_path": "/a/b.go"}, "Reading .../b.go"),
    ("read_many_files", {"paths": ["docs/a.md", "docs/b.md"]}, "Reading .../a.md"),
    ("write_file", {"file_path": "/a/b.go"}, "Writing .../b.go"),
    ("replace", {"file_path": "/a/b.go"}, "Editing .../b.go"),
    ("glob", {"pattern": "main.go"}, "Finding files: main.go"),
    ("search_file_content", {"pattern": "main"}, "Searching for main"),
    ("list_directory", {"path": "/srv/app"}, "Listing .../app"),
    ("web_fetch", {"prompt": "Summarise https://example.org/x please"}, "Fetching example.org"),
    ("google_web_search", {"query": "news"}, "Searching the web for news"),
    ("execute", {"command": "make"}, "Running command… make"),
    ("edit", {"locations": [{"path": "/x/y.py"}]}, "Editing .../y.py"),
    ("delete", {"path": "/x/y.py"}, "Deleting .../y.py"),
    ("think", {}, "Thinking"),
    ("other", {"title": "Compile everything"}, "Using Compile everything"),
    ("FrobnicateTheThing", {"x": 1}, "Using FrobnicateTheThing"),
    ("", {}, "Using a tool"),
]


@pytest.mark.req("E5")
@pytest.mark.parametrize(("name", "given_input", "label"), STORIES)
def test_a_tool_is_told_in_words(name: str, given_input: dict[str, object], label: str):
    assert tool_label(name, given_input) == label


def test_a_label_speaks_the_persons_language():
    assert tool_label("Read", {"file_path": "/a/b.py"}, lang="ja") == ".../b.py を読み込み中"


@pytest.mark.parametrize(
    "trick", ["@everyone", "<@123>", "**bold**", "[click](https://evil.example)", "||x||", "a_b_c"]
)
def test_markup_and_mentions_are_shown_as_code(trick: str):
    assert tool_label("Bash", {"command": trick}) == f"Running command… `{trick}`"


def test_backticks_cannot_end_the_code_early():
    assert tool_label("Bash", {"command": "echo `id` @here"}) == "Running command… `echo 'id' @here`"


def test_what_hides_or_turns_text_around_is_taken_out():
    assert tool_label("Read", {"file_path": "/a/b\u202etxt.exe\x07\x1b[2J\u200b"}) == "Reading `.../btxt.exe[2J`"


anything = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
names = st.sampled_from([name for name, _, _ in STORIES]) | st.text(max_size=200)
keys = st.sampled_from(
    [
        "command",
        "file_path",
        "path",
        "url",
        "query",
        "pattern",
        "changes",
        "locations",
        "title",
        "description",
    ]
)


@given(names, st.dictionaries(keys, anything), st.sampled_from(list(CATALOGUES)))
def test_whatever_an_agent_sends_the_label_is_one_short_visible_line(
    name: str, given_input: dict[str, object], lang: str
):
    label = tool_label(name, given_input, lang=lang)
    assert 0 < len(label) <= LABEL_LIMIT
    assert label.isprintable() or any(ord(char) > 127 for char in label)
    assert not any(char in label for char in "\n\r\t\x00\x1b\u202e")
    assert label.count("`") % 2 == 0 or label.endswith("…")
    outside = "".join(label.split("`")[::2])
    assert "@" not in outside
    assert "<" not in outside


def test_a_command_of_ten_megabytes_takes_no_time():
    assert len(tool_label("Bash", {"command": "x" * 10_000_000})) <= LABEL_LIMIT
