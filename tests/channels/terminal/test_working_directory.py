"""Which directory is the project where a person stands, and where agents do not belong."""

from pathlib import Path

from fairlead.channels.terminal.working_directory import WorkingDirectory, find_working_directory


def test_the_repository_around_a_directory_is_the_project(tmp_path: Path):
    inner = tmp_path / "home" / "app" / "src"
    inner.mkdir(parents=True)
    home = str(tmp_path / "home")
    assert find_working_directory(str(inner), home) == WorkingDirectory(str(inner), str(inner))
    (inner.parent / ".git").mkdir()
    assert find_working_directory(str(inner), home) == WorkingDirectory(str(inner), str(inner.parent))


def test_a_home_directory_under_version_control_is_not_the_project_of_everything_in_it(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "app").mkdir()
    here = str(tmp_path / "app")
    assert find_working_directory(here, str(tmp_path)) == WorkingDirectory(here, here)


def test_some_directories_call_for_caution(tmp_path: Path):
    home = tmp_path / "home" / "me"
    own = tmp_path / "fairlead"
    (own / "src" / "fairlead").mkdir(parents=True)
    (own / "src" / "fairlead" / "__init__.py").touch()
    (own / "pyproject.toml").touch()
    home.mkdir(parents=True)
    found = {str(p): find_working_directory(str(p), str(home)).caution for p in (home, home.parent, Path("/"), own)}
    assert list(found.values()) == ["home", "above_home", "above_home", "own_code"]
    assert find_working_directory(str(own / "src"), str(home)).caution == "own_code"
    assert find_working_directory(str(tmp_path), str(home)).caution == "above_home"
