"""Names of files that an agent chose."""

import pytest

from fairlead.channels.terminal.answer_files import safe_name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("image-1.png", "image-1.png"),
        ("../../.ssh/authorized_keys", "_.._.ssh_authorized_keys"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("a\x1b[31mb;$(x).png", "a__31mb___x_.png"),
        ("図.png", "図.png"),
        ("..", "file-3"),
    ],
)
def test_a_name_leads_nowhere_else(name: str, safe: str):
    assert safe_name(name, 3) == safe
