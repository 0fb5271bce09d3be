"""A Discord of our own on 127.0.0.1: REST v10, gateway and CDN, for tests that run a real client against it."""

from .asked import Asked
from .board import WaitedInVain
from .clock import Clock
from .faults import Fault
from .model import Allow, Message, Upload
from .people import Person
from .places import Place
from .ratelimits import Rule
from .server import LoopbackDiscord
from .slash import CannotType

__all__ = [
    "Allow",
    "Asked",
    "CannotType",
    "Clock",
    "Fault",
    "LoopbackDiscord",
    "Message",
    "Person",
    "Place",
    "Rule",
    "Upload",
    "WaitedInVain",
]
