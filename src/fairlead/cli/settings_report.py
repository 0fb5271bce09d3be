"""Tells a person which file the settings come from, and what in it is probably a mistake."""

from fairlead.cli.output import tell
from fairlead.settings import Settings, all_setting_names, load_settings
from fairlead.settings_file import find_settings_file, find_strange_settings


def load_and_report() -> Settings:
    """The settings; what looks like a mistake, and a file in the old place, is said on standard error."""
    settings = load_settings()
    file = find_settings_file()
    for sentence in strange_settings():
        tell(f"fairlead: warning: {sentence}", err=True)
    if file.why == "checkout":
        tell(f"fairlead: settings are read from {file.path}.", err=True)
    return settings


def strange_settings() -> list[str]:
    return find_strange_settings(find_settings_file(), all_setting_names())
