"""A library is loaded without another one that it would take."""

import sys
from pathlib import Path

import pytest

from fairlead.kit.optional_imports import import_without

ROOMY = """
try:
    import comfort
except ImportError:
    comfort = None
"""


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "roomy.py").write_text(ROOMY)
    (tmp_path / "comfort.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "roomy", raising=False)
    monkeypatch.delitem(sys.modules, "comfort", raising=False)


@pytest.mark.usefixtures("libraries")
def test_a_library_takes_what_is_installed_unless_it_is_told_otherwise():
    import_without("roomy", ["comfort"])
    assert sys.modules["roomy"].comfort is None
    assert "comfort" not in sys.modules


@pytest.mark.usefixtures("libraries")
def test_others_can_import_it_afterwards():
    import_without("roomy", ["comfort"])
    import comfort  # pyright: ignore[reportMissingImports] - the fixture makes it

    assert sys.modules["comfort"] is comfort


@pytest.mark.usefixtures("libraries")
def test_what_is_loaded_already_stays():
    import comfort  # pyright: ignore[reportMissingImports]

    import_without("roomy", ["comfort"])
    assert sys.modules["roomy"].comfort is comfort


@pytest.mark.usefixtures("libraries")
def test_a_library_that_fails_leaves_nothing_forbidden(tmp_path: Path):
    (tmp_path / "roomy.py").write_text("raise ImportError('a file is missing')")
    with pytest.raises(ImportError, match="a file is missing"):
        import_without("roomy", ["comfort"])
    assert "comfort" not in sys.modules
