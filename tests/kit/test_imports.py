"""A library that is kept away for a while, and only for that while."""

import sys

import pytest

from fairlead.kit.imports import as_if_absent


def test_what_is_kept_away_cannot_be_imported_and_later_can(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    monkeypatch.setattr("builtins.print", lambda *_: None)
    with as_if_absent("this"), pytest.raises(ImportError):
        import this
    import this

    assert this.s


def test_what_is_loaded_already_stays():
    with as_if_absent("json"):
        import json
    assert sys.modules["json"] is json
