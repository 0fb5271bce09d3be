"""The tests of a module are found by its name: folders below tests/ are those of src/fairlead, and each module of some
size is named or imported by a test file there. Story folders, whose tests walk through many modules, are listed."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "fairlead"
FEW_LINES = 60

STORIES = {
    "acceptance": "the acceptance stories, through a whole daemon",
    "agents": "the real agent CLIs, and the model server that they talk to",
    "browser": "the console in a real Chromium",
    "channels/discord/stories": "a person, Discord and a daemon",
    "channels/stories": "what holds for every channel",
    "docs": "the documents",
    "loopback_discord": "the package loopback_discord, which stands beside src",
    "simulator": "many small worlds, each from its own seed",
    "support": "programs that the tests of several folders share",
    "two_machines": "a daemon, its nats-server and runners, as processes",
    "torture": "a real daemon that is killed again and again",
}
DATA = {"transcripts", "golden", "earlier_version"}

TESTED_THROUGH = {
    "nats_wire/pull.py": "nats_wire/test_wire.py",
    "nats_wire/blobs.py": "nats_wire/test_wire.py",
    "nats_wire/daemon_wire.py": "nats_wire/test_wire.py",
    "nats_wire/server_config.py": "nats_wire/test_access.py",
    "nats_wire/owned_server.py": "nats_wire/test_access.py",
    "nats_wire/machine_network.py": "two_machines/test_stories.py",
    "real_machines.py": "two_machines/test_stories.py",
    "runner/turn_inputs.py": "two_machines/test_stories.py",
    "runner/call_handler.py": "two_machines/test_stories.py",
    "cli/machine.py": "two_machines/test_command_line.py",
    "cli/agent_records.py": "cli/test_agent.py",
    "cli/runner.py": "two_machines/test_command_line.py",
    "cli/runner_agents.py": "two_machines/test_added_agents.py",
    "cli/runner_doctor.py": "two_machines/test_command_line.py",
    "cli/machine_checks.py": "two_machines/test_command_line.py",
    "flow/commands/machines.py": "two_machines/test_stories.py",
    "core/worktree_plans.py": "core/decide/test_worktrees.py",
    "machine_ports.py": "machines/test_hub.py",
    "machines/endpoint.py": "machines/test_hub.py",
    "machines/machine_calls.py": "machines/test_remote_trees.py",
    "machines/remote_machine.py": "machines/test_remote_runtime.py",
    "machines/remote_turns.py": "machines/test_remote_runtime.py",
    "machines/machine_files.py": "two_machines/test_parity.py",
    "runner/separated_agents.py": "two_machines/test_parity.py",
    "runner/file_call_handler.py": "machines/test_remote_trees.py",
    "runner/runner.py": "machines/test_remote_runtime.py",
    "runner/turn.py": "machines/test_remote_runtime.py",
    "runner/turns.py": "machines/test_remote_runtime.py",
    "testing/machine_invariants.py": "simulator/test_deliberate_bugs_between_machines.py",
    "testing/machine_worlds.py": "simulator/test_machines.py",
    "testing/memory_wire.py": "machines/test_hub.py",
    "testing/simulated_runner.py": "simulator/test_machines.py",
    "core/tree_ranges.py": "flow/commands/test_changes.py",
    "core/fold/undos.py": "flow/work_trees/test_undoing.py",
    "flow/turns/missing_runtime.py": "flow/turns/test_scheduler.py",
    "git/tree_restore.py": "git/test_tree_undo.py",
    "git/private_repository.py": "git/test_tree_snapshots.py",
    "git/project_repository.py": "git/test_tree_snapshots.py",
    "git/ignore_rules.py": "git/test_snapshot_gaps.py",
    "git/untracked_cache.py": "git/test_tree_status.py",
    "git/work_trees.py": "git/test_tree_snapshots.py",
    "testing/trees.py": "flow/work_trees/test_turn_snapshots.py",
    "tree_ports.py": "git/test_tree_snapshots.py",
    "core/fold/steering.py": "core/decide/test_steering.py",
    "channels/discord/channel.py": "channels/discord/stories/test_talking.py",
    "channels/discord/commands/reply_format.py": "channels/discord/commands/test_runner.py",
    "channels/discord/inbound/callers.py": "channels/discord/stories/test_settings.py",
    "channels/discord/inbound/message_handler.py": "channels/discord/stories/test_talking.py",
    "channels/discord/inbound/message_reader.py": "channels/discord/stories/test_talking.py",
    "channels/discord/inbound/messages.py": "channels/discord/stories/test_talking.py",
    "channels/discord/inbound/missed_messages.py": "channels/discord/inbound/test_catch_up.py",
    "channels/discord/live/left_over_statuses.py": "channels/discord/live/test_live_view.py",
    "channels/discord/parts.py": "channels/discord/stories/test_talking.py",
    "channels/http/call.py": "channels/http/test_errors.py",
    "channels/http/console/jobs.py": "channels/http/console/test_session.py",
    "channels/http/console/turns.py": "channels/http/console/test_session.py",
    "flow/queries/text_search.py": "channels/http/console/test_search.py",
    "render/console/sessions.py": "channels/http/console/test_why.py",
    "render/console/machines.py": "channels/http/console/test_machines.py",
    "channels/http/console/assets.py": "channels/http/console/test_console.py",
    "channels/http/console/visit.py": "channels/http/console/test_console.py",
    "channels/http/pull_channels.py": "channels/http/test_server.py",
    "channels/http/sse.py": "channels/http/test_job_stream.py",
    "channels/terminal/news.py": "channels/terminal/test_chat.py",
    "channels/terminal/screen.py": "channels/terminal/test_chat.py",
    "cli/agent_install.py": "cli/test_agent.py",
    "cli/entry.py": "cli/test_main.py",
    "cli/exit_codes.py": "cli/test_main.py",
    "cli/serving.py": "cli/test_up.py",
    "channels/terminal/project_choice.py": "channels/terminal/test_piped.py",
    "core/agent_sessions.py": "core/decide/test_agent_sessions.py",
    "core/schedules.py": "core/decide/test_schedules.py",
    "core/fold/delivery.py": "core/fold/test_fold.py",
    "core/fold/jobs.py": "core/fold/test_fold.py",
    "core/fold/projects.py": "core/decide/test_projects.py",
    "core/fold/questions.py": "core/fold/test_fold.py",
    "core/fold/sessions.py": "core/fold/test_fold.py",
    "flow/assembly.py": "test_app.py",
    "flow/commands/agent_start.py": "channels/stories/test_acp_over_http.py",
    "flow/commands/parts.py": "flow/commands/test_handlers.py",
    "flow/gate.py": "flow/intake/test_messages.py",
    "flow/queries/stored_sessions.py": "flow/commands/test_agent_sessions.py",
    "flow/queries/reports.py": "flow/commands/test_sessions.py",
    "channels/discord/outbound/message_marks.py": "channels/discord/stories/test_marks.py",
    "flow/startup/machine.py": "simulator/test_seeds.py",
    "flow/startup/boot.py": "simulator/test_seeds.py",
    "flow/startup/sequence.py": "test_app.py",
    "flow/startup/steps.py": "test_app.py",
    "real_machine.py": "test_app.py",
    "state_directory.py": "test_app.py",
    "render/words/languages.py": "render/words/test_words.py",
    "channels/discord/gateway/client_maker.py": "channels/discord/gateway/test_connection.py",
    "channels/discord/gateway/socket.py": "channels/discord/gateway/test_first_connection.py",
    "runtime_ports.py": "runtimes/test_contract.py",
    "channel_ports.py": "flow/outbox/test_outbox.py",
    "core/console_views.py": "core/test_console_models.py",
    "render/words/commands/en.py": "render/words/test_command_words.py",
    "render/words/commands/ja.py": "render/words/test_command_words.py",
    "render/words/commands/zh_cn.py": "render/words/test_command_words.py",
    "render/words/commands/zh_tw.py": "render/words/test_command_words.py",
    "render/words/replies/en.py": "render/words/test_words.py",
    "render/words/replies/ja.py": "render/words/test_words.py",
    "render/words/replies/zh_cn.py": "render/words/test_words.py",
    "render/words/replies/zh_tw.py": "render/words/test_words.py",
    "render/words/console/en.py": "render/words/test_words.py",
    "render/words/console/ja.py": "render/words/test_words.py",
    "render/words/console/zh_cn.py": "render/words/test_words.py",
    "render/words/console/zh_tw.py": "render/words/test_words.py",
    "render/words/pages/en.py": "render/words/test_words.py",
    "render/words/pages/ja.py": "render/words/test_words.py",
    "render/words/pages/zh_cn.py": "render/words/test_words.py",
    "render/words/pages/zh_tw.py": "render/words/test_words.py",
    "render/words/details/ja.py": "render/test_details.py",
    "render/words/details/zh_cn.py": "render/test_details.py",
    "render/words/details/zh_tw.py": "render/test_details.py",
    "render/words/story/en.py": "render/test_story.py",
    "render/words/story/ja.py": "render/test_story.py",
    "render/words/story/zh_cn.py": "render/test_story.py",
    "render/words/story/zh_tw.py": "render/test_story.py",
    "render/words/terminal/zh_tw.py": "render/words/test_words.py",
    "render/words/terminal/zh_cn.py": "render/words/test_words.py",
    "render/words/terminal/ja.py": "render/words/test_words.py",
    "render/words/terminal/en.py": "render/words/test_words.py",
    "render/words/errors/en.py": "render/words/test_words.py",
    "render/words/errors/ja.py": "render/words/test_words.py",
    "render/words/errors/zh_cn.py": "render/words/test_words.py",
    "render/words/errors/zh_tw.py": "render/words/test_words.py",
    "render/words/en.py": "render/words/test_words.py",
    "render/words/ja.py": "render/words/test_words.py",
    "render/words/zh_cn.py": "render/words/test_words.py",
    "render/words/zh_tw.py": "render/words/test_words.py",
    "runtimes/install/programs.py": "runtimes/install/test_npm.py",
    "runtimes/claude/plan.py": "runtimes/claude/test_runtime.py",
    "runtimes/claude/process.py": "runtimes/claude/test_runtime.py",
    "runtimes/gemini/runtime.py": "runtimes/test_contract.py",
    "runtimes/gemini/wire.py": "runtimes/gemini/test_translate.py",
    "runtimes/lines.py": "runtimes/test_contract.py",
    "testing/agent_callers.py": "simulator/test_agent_calls.py",
    "testing/agent_people.py": "simulator/test_seeds.py",
    "testing/call_invariants.py": "simulator/test_agent_calls.py",
    "testing/chat.py": "simulator/test_seeds.py",
    "testing/damage.py": "simulator/test_seeds.py",
    "testing/hard_times.py": "simulator/test_seeds.py",
    "testing/invariants.py": "simulator/test_deliberate_bugs.py",
    "testing/long_lived_runtime.py": "simulator/test_deliberate_bugs.py",
    "testing/mark_invariants.py": "simulator/test_deliberate_bugs.py",
    "testing/mishaps.py": "simulator/test_seeds.py",
    "testing/months.py": "simulator/test_seeds.py",
    "testing/outside_events.py": "simulator/test_hooks_and_budgets.py",
    "testing/outside_invariants.py": "simulator/test_hooks_and_budgets.py",
    "testing/people.py": "simulator/test_seeds.py",
    "testing/spawn_invariants.py": "simulator/test_deliberate_bugs_in_spawns.py",
    "testing/spawn_people.py": "simulator/test_spawns.py",
    "testing/steer_people.py": "simulator/test_steering.py",
    "testing/undo_invariants.py": "simulator/test_deliberate_bugs_in_undos.py",
    "testing/undo_people.py": "simulator/test_undos.py",
    "testing/worktree_people.py": "simulator/test_worktrees.py",
    "testing/schedule_invariants.py": "simulator/test_schedules.py",
    "testing/schedule_people.py": "simulator/test_schedules.py",
    "testing/simulated_daemon.py": "simulator/test_seeds.py",
    "testing/time_invariants.py": "simulator/test_deliberate_bugs.py",
    "testing/simulated_machine.py": "simulator/test_seeds.py",
    "testing/simulator.py": "simulator/test_seeds.py",
    "testing/stepped_writer.py": "simulator/test_found_faults.py",
    "testing/world.py": "simulator/test_seeds.py",
}
"""Modules that no test file of their folder names or imports, and the test file that goes through each of them."""

RULES = {
    "channels/terminal/test_words.py": "no sentence stands in the terminal's code",
    "core/decide/test_any_order.py": "what holds for every decision, in any order",
    "core/test_no_channel_names.py": "core and flow name no channel",
    "flow/worktrees/test_separated_agents.py": "worktrees of agents that have a user of their own",
    "flow/outbox/test_turn_cards.py": "the card of a turn, from its facts to the message",
    "flow/test_seams.py": "where schedules, hooks, spawned sessions, budgets and own tools meet",
    "render/words/test_catalogue_use.py": "the catalogues and the code that speaks fit",
    "render/words/test_command_words.py": "every command has its words",
    "runtimes/acp/test_checks_at_once.py": "the checks of many agents at the same time",
    "runtimes/acp/test_contract.py": "what every runtime keeps, with an agent that speaks ACP",
    "runtimes/test_contract.py": "what every runtime keeps",
    "store/test_earlier_version.py": "a state that an earlier version wrote",
    "test_code_rules.py": "broad excepts, unowned tasks, names, what core imports",
    "test_layout.py": "this file",
    "test_struct_calls.py": "calls with many positional arguments",
    "test_traceability.py": "the table of requirements",
}
"""Test files that hold a rule for many modules."""


def large_modules() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        if not path.stem.startswith("__") and len(path.read_text().splitlines()) > FEW_LINES:
            yield path.relative_to(SOURCE).as_posix()


@cache
def imported_by_tests_in(folder: Path) -> frozenset[str]:
    nodes = [node for path in folder.glob("test_*.py") for node in ast.walk(ast.parse(path.read_text()))]
    plain = (alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names)
    origins = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    within = (f"{node.module}.{alias.name}" for node in origins for alias in node.names)
    return frozenset([*plain, *within, *(node.module or "" for node in origins)])


def is_found_by_name(module: str) -> bool:
    folder = TESTS / Path(module).parent
    name = Path(module).stem
    if (folder / f"test_{name}.py").exists() or list(folder.glob(f"test_{name}_*.py")):
        return True
    return "fairlead." + module.removesuffix(".py").replace("/", ".") in imported_by_tests_in(folder)


def test_every_module_of_some_size_is_named_or_imported_by_a_test_in_its_folder():
    lost = {module for module in large_modules() if not is_found_by_name(module)}
    assert lost - TESTED_THROUGH.keys() == set(), "add a test file of that name, or move the one that tests it"


def test_no_exception_is_left_over():
    assert [module for module in TESTED_THROUGH if not (SOURCE / module).exists() or is_found_by_name(module)] == []
    assert [test for test in TESTED_THROUGH.values() if not (TESTS / test).exists()] == []


def test_every_folder_of_tests_is_a_folder_of_the_source_or_a_story():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")}
    strange = {
        folder.as_posix()
        for folder in folders
        if not (SOURCE / folder).is_dir()
        and not any(folder.is_relative_to(story) for story in STORIES)
        and folder.name not in DATA
    }
    assert strange == set()
    assert [story for story in STORIES if not (TESTS / story).is_dir()] == []


def test_every_test_file_beside_the_stories_carries_the_name_of_a_module():
    others = {
        path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py") if not is_named_after_a_module(path)
    }
    assert others == set(RULES)


def is_named_after_a_module(path: Path) -> bool:
    """`test_view.py` and `test_view_choices.py` test view.py; `fold/test_fold.py` tests the package fold."""
    folder = path.parent.relative_to(TESTS)
    if any(folder.is_relative_to(story) for story in STORIES):
        return True
    words = path.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:length]) for length in range(1, len(words) + 1)]
    return path.stem == f"test_{folder.name}" or any((SOURCE / folder / f"{name}.py").exists() for name in names)


def test_no_test_changes_where_modules_are_looked_for():
    changed = "sys.path." + "insert"
    assert [path.name for path in TESTS.rglob("*.py") if changed in path.read_text()] == []
