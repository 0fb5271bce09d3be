"""A worktree is merged by real git: what was committed arrives, what was not committed stays, wherever it stands."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import FairleadError
from fairlead.git.worktree_merging import Conflict
from tests.git.harness import git
from tests.git.worktree_story import MARK, Countdown, Killed, Story

pytestmark = pytest.mark.req("F5")


def test_commits_of_the_worktree_arrive_in_the_projects_branch_and_directory(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    story.make()
    before = git(story.project, "rev-parse", "main").strip()
    after = story.commit(story.path, "fix a", a="two\n", b="new\n")
    result = story.merge()
    assert (result.target, result.before, result.after) == ("main", before, after)
    assert (result.commits_total, result.files) == (1, ("a", "b"))
    assert result.commits[0].endswith(" fix a")
    assert (story.project / "a").read_text() == "two\n"
    assert git(story.project, "status", "--porcelain") == ""
    assert MARK not in story.refs()


def test_a_branch_that_moved_on_is_rebased_onto(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    story.make()
    story.commit(story.path, "theirs", b="new\n")
    story.commit(story.project, "mine", a="mine\n")
    result = story.merge()
    assert story.log() == ["theirs", "mine", "first"]
    assert result.commits_total == 1
    assert git(story.project, "log", "-1", "--format=%an %cn").strip() == "Ada Ada"
    assert git(story.path, "rev-parse", "HEAD") == git(story.project, "rev-parse", "HEAD")


def test_a_merged_worktree_can_go_on_and_be_merged_again(tmp_path: Path):
    story = Story(tmp_path)
    story.make()
    story.commit(story.path, "one", b="1")
    story.merge()
    story.commit(story.path, "two", b="2")
    assert story.merge().commits_total == 1
    assert story.merge().commits_total == 0


def test_a_branch_that_is_not_checked_out_is_moved_without_touching_any_file(tmp_path: Path):
    story = Story(tmp_path)
    story.make()
    story.commit(story.path, "work", b="1")
    git(story.project, "checkout", "-q", "-b", "elsewhere")
    story.merge()
    assert story.log("main") == ["work", "first"]
    assert git(story.project, "symbolic-ref", "HEAD").strip() == "refs/heads/elsewhere"
    assert not (story.project / "b").exists()


def test_conflicts_change_nothing_and_are_named(tmp_path: Path):
    story = Story(tmp_path, a="one\n", c="c\n")
    story.make()
    tip = story.commit(story.path, a="theirs\n", c="c2\n")
    main = story.commit(story.project, a="mine\n")
    with pytest.raises(Conflict) as conflict:
        story.merge()
    assert (conflict.value.target, conflict.value.files) == ("main", ("a",))
    assert git(story.path, "rev-parse", "HEAD").strip() == tip
    assert git(story.path, "symbolic-ref", "HEAD").strip() == "refs/heads/fairlead/fix"
    assert git(story.path, "status", "--porcelain") == ""
    assert git(story.project, "rev-parse", "main").strip() == main
    assert MARK not in story.refs()


def test_after_the_agent_has_resolved_the_conflict_the_merge_goes_through(tmp_path: Path):
    story = Story(tmp_path, a="one\n")
    story.make()
    story.commit(story.path, a="theirs\n")
    story.commit(story.project, a="mine\n")
    with pytest.raises(Conflict):
        story.merge()
    git(story.path, "rebase", "main", codes=(1,))
    (story.path / "a").write_text("both\n")
    git(story.path, "add", "a")
    git(story.path, "-c", "core.editor=true", "rebase", "--continue")
    story.merge()
    assert (story.project / "a").read_text() == "both\n"


@pytest.mark.parametrize("dirty", ["edited", "staged", "untracked", "ignored"])
def test_edits_of_the_persons_own_are_never_overwritten(tmp_path: Path, dirty: str):
    story = Story(tmp_path, a="one\n", **{".gitignore": "secret\n"})
    story.make()
    name = {"untracked": "b", "ignored": "secret"}.get(dirty, "a")
    (story.path / name).write_text("theirs\n")
    git(story.path, "add", "-f", name)
    git(story.path, "commit", "-q", "-m", "work")
    (story.project / name).write_text("mine\n")
    if dirty == "staged":
        git(story.project, "add", "a")
    with pytest.raises(FairleadError) as refused:
        story.merge()
    assert refused.value.code == "E_MERGE_BLOCKED"
    assert name in refused.value.message
    assert (story.project / name).read_text() == "mine\n"
    assert story.log() == ["first"]


def test_edits_elsewhere_stay_where_they_are(tmp_path: Path):
    story = Story(tmp_path, a="one\n", mine="1\n", staged="1\n")
    story.make()
    story.commit(story.path, a="two\n")
    (story.project / "mine").write_text("2\n")
    (story.project / "staged").write_text("2\n")
    git(story.project, "add", "staged")
    (story.project / "new").write_text("new\n")
    before = git(story.project, "status", "--porcelain")
    story.merge()
    assert git(story.project, "status", "--porcelain") == before
    assert (story.project / "a").read_text() == "two\n"
    assert (story.project / "mine").read_text() == "2\n"


def test_uncommitted_work_in_the_worktree_is_refused_and_can_be_left_there(tmp_path: Path):
    story = Story(tmp_path)
    story.make()
    story.commit(story.path, b="1")
    (story.path / "draft").write_text("x")
    with pytest.raises(FairleadError, match="draft") as refused:
        story.merge()
    assert refused.value.code == "E_UNCOMMITTED_WORK"
    assert "uncommitted:leave" in refused.value.next_step
    story.merge(uncommitted="leave")
    assert (story.project / "b").read_text() == "1"
    assert (story.path / "draft").read_text() == "x"
    assert not (story.project / "draft").exists()


def test_uncommitted_work_cannot_be_left_where_a_rebase_is_needed(tmp_path: Path):
    story = Story(tmp_path, a="1")
    story.make()
    tip = story.commit(story.path, b="1")
    story.commit(story.project, a="2")
    (story.path / "draft").write_text("x")
    with pytest.raises(FairleadError, match="moved on"):
        story.merge(uncommitted="leave")
    assert git(story.path, "rev-parse", "HEAD").strip() == tip


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ("gone", "E_WORKTREE_GONE", "not there any more"),
        ("pruned", "E_WORKTREE_GONE", "not there any more"),
        ("detached", "E_MERGE_BLOCKED", "No branch is checked out"),
        ("no target", "E_MERGE_BLOCKED", "no branch main"),
        ("merging", "E_MERGE_BLOCKED", "in the middle of a merge"),
        ("rebasing", "E_UNCOMMITTED_WORK", "in the middle of a rebase"),
        ("other branch", "E_MERGE_BLOCKED", "has other checked out"),
        ("elsewhere", "E_MERGE_BLOCKED", "is checked out in"),
        ("unrelated", "E_MERGE_BLOCKED", "no commit in common"),
    ],
)
def test_every_odd_state_is_refused_in_words(tmp_path: Path, state: str, code: str, words: str):
    story = Story(tmp_path, a="one\n")
    if state == "detached":
        git(story.project, "checkout", "-q", "--detach")
    story.make()
    story.commit(story.path, a="theirs\n")
    match state:
        case "gone":
            git(story.project, "worktree", "remove", "--force", str(story.path))
        case "pruned":
            story.path.rename(tmp_path / "moved")
            git(story.project, "worktree", "prune")
        case "no target":
            git(story.project, "branch", "-m", "main", "trunk")
        case "merging" | "rebasing":
            git(story.project, "checkout", "-q", "-b", "side")
            story.commit(story.project, a="side\n")
            git(story.project, "checkout", "-q", "main")
            story.commit(story.project, a="mine\n")
            if state == "merging":
                git(story.project, "merge", "side", codes=(1,))
            else:
                git(story.path, "rebase", "main", codes=(1,))
        case "other branch":
            git(story.path, "checkout", "-q", "-b", "other")
        case "elsewhere":
            git(story.project, "checkout", "-q", "-b", "side")
            git(story.project, "worktree", "add", "-q", str(tmp_path / "second"), "main")
        case "unrelated":
            git(story.project, "checkout", "-q", "--orphan", "fresh")
            story.commit(story.project, z="z")
            git(story.project, "branch", "-M", "fresh", "main")
        case _:
            pass
    with pytest.raises(FairleadError, match=words) as refused:
        story.merge()
    assert refused.value.code == code
    assert MARK not in story.refs()


def test_merge_drivers_filters_and_hooks_of_the_repository_do_not_run(tmp_path: Path):
    trace = tmp_path / "ran"
    story = Story(tmp_path, a="1\n2\n3\n4\n5\n", **{".gitattributes": "* filter=evil merge=evil\n"})
    story.make()
    for key in ("filter.evil.smudge", "filter.evil.clean", "merge.evil.driver", "gpg.program", "core.editor"):
        git(story.project, "config", key, f"touch {trace}; cat")
    git(story.project, "config", "commit.gpgSign", "true")
    for name in ("pre-rebase", "post-checkout", "post-merge", "post-rewrite", "reference-transaction", "pre-commit"):
        hook = story.project / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {trace}\n")
        hook.chmod(0o755)
    for where, lines in ((story.path, "1\n2\n3\n4\nfive\n"), (story.project, "one\n2\n3\n4\n5\n")):
        (where / "a").write_text(lines)
        git(
            where,
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "filter.evil.clean=cat",
            "-c",
            "commit.gpgSign=false",
            "commit",
            "-aqm",
            "x",
        )
    trace.unlink(missing_ok=True)
    story.merge()
    assert (story.project / "a").read_text() == "one\n2\n3\n4\nfive\n"
    assert not trace.exists()


def test_two_worktrees_of_one_repository_do_not_disturb_each_other(tmp_path: Path):
    one = Story(tmp_path, a="a\n", b="b\n")
    one.make()
    two = Story(tmp_path / "two")
    two.project = one.project
    two.path = tmp_path / "state" / "worktrees" / "app" / "2-other"
    two.make(number=2, path=str(two.path), branch="fairlead/other", repository=str(one.project))
    one.commit(one.path, "from one", a="one\n")
    (two.path / "b").write_text("two\n")
    one.merge()
    assert (two.path / "b").read_text() == "two\n"
    assert (two.path / "a").read_text() == "a\n"
    two.commit(two.path, "from two")
    two.merge()
    assert one.log() == ["from two", "from one", "first"]
    assert (one.project / "a").read_text() == "one\n"


def prepare(directory: Path) -> Story:
    story = Story(directory, a="one\n", c="c\n", mine="1\n")
    story.make()
    story.commit(story.path, "work", b="new\n")
    story.commit(story.path, "more", b="newer\n")
    story.commit(story.project, "mine", a="mine\n")
    (story.project / "mine").write_text("2\n")
    (story.project / "draft").write_text("draft\n")
    return story


def test_the_machine_dies_between_any_two_steps_of_a_merge_and_nothing_is_lost(tmp_path: Path):
    count = Countdown()
    prepare(tmp_path / "count").merge(count)
    for left in range(count.steps):
        story = prepare(tmp_path / str(left))
        with pytest.raises(Killed):
            story.merge(Countdown(left))
        story.merge()
        assert story.log() == ["more", "work", "mine", "first"]
        assert (story.project / "mine").read_text() == "2\n"
        assert (story.project / "draft").read_text() == "draft\n"
        assert git(story.path, "status", "--porcelain") == ""
        assert git(story.path, "rev-parse", "HEAD") == git(story.project, "rev-parse", "main")
        assert MARK not in story.refs()


def test_the_machine_dies_in_the_middle_of_a_conflict_and_the_branch_is_as_it_was(tmp_path: Path):
    def conflicting(directory: Path) -> Story:
        story = Story(directory, a="one\n")
        story.make()
        story.commit(story.path, "theirs", a="theirs\n")
        story.commit(story.project, "mine", a="mine\n")
        return story

    count = Countdown()
    with pytest.raises(Conflict):
        conflicting(tmp_path / "count").merge(count)
    for left in range(count.steps):
        story = conflicting(tmp_path / str(left))
        with pytest.raises(Killed):
            story.merge(Countdown(left))
        with pytest.raises(Conflict):
            story.merge()
        assert story.log("fairlead/fix") == ["theirs", "first"]
        assert story.log() == ["mine", "first"]
        assert git(story.path, "status", "--porcelain") == ""
        assert MARK not in story.refs()


NAMES = st.sampled_from(["a", "b", "new", "käse", "with space", "-dash"])
EDITS = st.dictionaries(NAMES, st.sampled_from(["1\n", "2\n", "1\n2\n3\n", ""]), max_size=3)


@settings(max_examples=25, deadline=None)
@given(theirs=EDITS, mine=EDITS, drafts=EDITS, my_drafts=EDITS)
def test_whatever_was_there_before_a_merge_is_found_again(
    tmp_path_factory: pytest.TempPathFactory,
    theirs: dict[str, str],
    mine: dict[str, str],
    drafts: dict[str, str],
    my_drafts: dict[str, str],
):
    story = Story(tmp_path_factory.mktemp("merge"), a="a\n", b="b\n")
    story.make()
    for where, files in ((story.path, theirs), (story.project, mine)):
        for name, text in files.items():
            (where / name).write_text(text)
        git(where, "add", "-A")
        git(where, "commit", "-q", "--allow-empty", "-m", "work")
    for where, files in ((story.path, drafts), (story.project, my_drafts)):
        for name, text in files.items():
            (where / name).write_text(text)
    tips = [git(story.project, "rev-parse", name).strip() for name in ("main", "fairlead/fix")]
    own = {name: (story.project / name).read_bytes() for name in my_drafts}
    theirs_left = {name: (story.path / name).read_bytes() for name in drafts}
    changed = {name for name in my_drafts if git(story.project, "status", "--porcelain", "--", name)}
    left = {name for name in drafts if git(story.path, "status", "--porcelain", "--", name)}
    try:
        story.merge(uncommitted="leave")
    except (FairleadError, Conflict):
        assert [git(story.project, "rev-parse", name).strip() for name in ("main", "fairlead/fix")] == tips
    else:
        assert git(story.project, "merge-base", "--is-ancestor", tips[0], "main") == ""
    for name in changed:
        assert (story.project / name).read_bytes() == own[name]
    for name in left:
        assert (story.path / name).read_bytes() == theirs_left[name]
    for tip in tips:  # every commit is still in the repository
        git(story.project, "cat-file", "-e", tip)
