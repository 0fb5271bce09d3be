"""The metrics of a daemon."""

import re
from pathlib import Path

import pytest

from fairlead.core.decide.machines import AddMachine, MeetRunner
from tests.channels.harness import run_daemon_in

pytestmark = pytest.mark.anyio


@pytest.mark.req("C5")
async def test_metrics_are_the_account_of_the_daemon(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        await daemon.say("alice", "/fail E_CLI_TIMEOUT")
        await daemon.say("alice", "")
        _, text = await daemon.get("/v1/metrics")
        seq = daemon.flow.view.seq
    lines = text.decode().splitlines()
    assert all(
        re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+({\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*})? \S+", line) for line in lines
    )
    for line in (
        "fairlead_messages_received_total 3",
        'fairlead_messages_settled_total{outcome="answered"} 1',
        'fairlead_messages_settled_total{outcome="failed"} 1',
        'fairlead_messages_settled_total{outcome="refused"} 1',
        'fairlead_jobs{state="running"} 0',
    ):
        assert line in lines
    durable = next(line for line in lines if line.startswith("fairlead_journal_durable_events_total "))
    assert 0 < int(durable.split()[1]) <= seq


UNITS_NOT_OF_THE_BASE = re.compile(r"_(ms|milliseconds|minutes|hours|days|kb|mb|kilobytes|megabytes)(_|$)")


def families_of(text: str) -> dict[str, tuple[str, str, list[str]]]:
    """Each family's type, help and samples, in the order of the exposition format: HELP, TYPE, then the samples."""
    families: dict[str, tuple[str, str, list[str]]] = {}
    words: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, words[name] = line.split(" ", 3)
        elif line.startswith("# TYPE "):
            _, _, typed, kind = line.split(" ")
            assert typed == name, f"{typed} has its TYPE before its HELP"
            assert typed not in families, f"{typed} comes twice"
            families[typed] = (kind, words[typed], [])
        else:
            sample = re.split(r"[{ ]", line, maxsplit=1)[0]
            assert sample.startswith(name), f"{sample} stands among the samples of {name}"
            families[name][2].append(line)
    return families


def problems_of(name: str, kind: str, words: str, samples: list[str]) -> list[str]:
    """What `promtool check metrics` would say."""
    found = []
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        found.append("a name in snake_case")
    if (kind == "counter") != name.endswith("_total"):
        found.append("_total for counters and for nothing else")
    if UNITS_NOT_OF_THE_BASE.search(name):
        found.append("base units")
    if kind != "histogram" and re.search(r"_(count|sum|bucket)$", name):
        found.append("a name that no histogram needs")
    if re.search(r"_(counter|gauge|histogram)(_|$)", name):
        found.append("a name without its type")
    if not words.endswith("."):
        found.append("a help text")
    if kind == "histogram" and samples and not any('le="+Inf"' in sample for sample in samples):
        found.append("a bucket for everything")
    return found


@pytest.mark.req("C5")
async def test_metrics_follow_the_conventions_of_prometheus(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        await daemon.say("alice", "hello")
        _, text = await daemon.get("/v1/metrics")
    families = families_of(text.decode())
    assert {name: found for name, family in families.items() if (found := problems_of(name, *family))} == {}
    process = {"start_time_seconds", "cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds"}
    assert {f"process_{name}" for name in process} | {"fairlead_uptime_seconds"} <= set(families)


@pytest.mark.req("C5")
async def test_how_long_a_job_took_is_counted_from_accepted_to_delivered(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        for message in ("hello", "again", "/fail E_CLI_TIMEOUT"):
            await daemon.say("alice", message)
        _, text = await daemon.get("/v1/metrics")
    lines = text.decode().splitlines()
    for line in (
        "fairlead_job_start_delay_seconds_count 3",
        'fairlead_job_start_delay_seconds_bucket{le="+Inf"} 3',
        'fairlead_job_answer_delay_seconds_count{outcome="success"} 2',
        'fairlead_job_answer_delay_seconds_count{outcome="failed"} 1',
        'fairlead_job_answer_delay_seconds_count{outcome="cancelled"} 0',
        'fairlead_delivery_delay_seconds_count{channel="http"} 3',
    ):
        assert line in lines


@pytest.mark.req("H8")
async def test_each_machine_has_its_numbers_and_without_one_there_are_none(tmp_path: Path):
    async with run_daemon_in(tmp_path) as daemon:
        _, text = await daemon.get("/v1/metrics")
        assert b"fairlead_machine" not in text
        for name in ("gpu", "cpu"):
            await daemon.flow.ledger.record_durably(AddMachine(name, "42", name))
            await daemon.flow.ledger.record_durably(MeetRunner(machine=name, runner_id="r", epoch=1, slots=4))
        _, text = await daemon.get("/v1/metrics")
    lines = text.decode().splitlines()
    for line in (
        'fairlead_machine_connected{machine="gpu"} 0',
        'fairlead_machine_jobs_running{machine="gpu"} 0',
        'fairlead_machine_jobs_waiting{machine="cpu"} 0',
        'fairlead_machine_slots{machine="gpu"} 4',
    ):
        assert line in lines
