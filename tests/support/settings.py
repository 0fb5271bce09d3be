"""Settings for tests: by the names that people know them by, as texts or as the values that they become."""

from pathlib import Path
from typing import Any

from fairlead.settings import Settings, read_settings
from fairlead.settings_values import rules_of


def make_settings(**given: Any) -> Settings:
    """These, and the environment for the rest; no settings file."""
    texts = {name: _text(value) for name, value in given.items() if isinstance(value, str | Path | int | float)}
    fields = {rules.name: field for field, rules in rules_of(Settings).items()}
    values = {fields[name]: value for name, value in given.items() if name not in texts}
    return read_settings(None, texts).replace(**values)


def _text(value: str | Path | float) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
