"""The machine's own time zone by its name."""

from pathlib import Path

import pytest

from fairlead.kit.local_zone import NO_ZONE, find_local_zone, load_zone


@pytest.fixture(autouse=True)
def no_zone_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TZ", raising=False)


def link_to(tmp_path: Path, zone: str) -> Path:
    """As /etc/localtime points to a zone."""
    target = tmp_path / "usr" / "zoneinfo" / zone
    target.parent.mkdir(parents=True)
    target.write_bytes(b"TZif")
    link = tmp_path / "localtime"
    link.symlink_to(target)
    return link


def test_it_is_where_the_link_points(tmp_path: Path):
    assert find_local_zone(link_to(tmp_path, "Europe/Berlin")) == "Europe/Berlin"


def test_tz_comes_first_if_it_names_a_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    link = link_to(tmp_path, "Europe/Berlin")
    monkeypatch.setenv("TZ", ":Asia/Tokyo")
    assert find_local_zone(link) == "Asia/Tokyo"
    monkeypatch.setenv("TZ", "nowhere")
    assert find_local_zone(link) == "Europe/Berlin"


def test_a_file_that_is_no_link_a_broken_link_and_none_are_utc(tmp_path: Path):
    copied = tmp_path / "copied"
    copied.write_bytes(b"TZif")
    broken = tmp_path / "broken"
    broken.symlink_to(tmp_path / "zoneinfo" / "Mars")
    assert [find_local_zone(path) for path in (copied, broken, tmp_path / "missing")] == ["UTC", "UTC", "UTC"]


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd"])
def test_a_name_that_is_no_zone_is_refused(name: str):
    with pytest.raises(NO_ZONE):
        load_zone(name)
