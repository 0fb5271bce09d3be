"""Who can reach an address, and how to open it."""

import pytest

from fairlead.kit.addresses import find_openable_url, leaves_loopback


@pytest.mark.parametrize(
    ("host", "leaves", "url"),
    [
        ("127.0.0.1", False, "http://127.0.0.1:80"),
        ("localhost", False, "http://localhost:80"),
        ("::1", False, "http://[::1]:80"),
        ("0.0.0.0", True, "http://127.0.0.1:80"),
        ("::", True, "http://[::1]:80"),
        ("192.168.1.5", True, "http://192.168.1.5:80"),
        ("box.example.org", True, "http://box.example.org:80"),
    ],
)
def test_an_address_is_told_as_it_can_be_opened(host: str, leaves: bool, url: str):
    assert (leaves_loopback(host), find_openable_url(host, 80)) == (leaves, url)
