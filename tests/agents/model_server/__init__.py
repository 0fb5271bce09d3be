"""A model on loopback for the real agent CLIs: four dialects, one scripted brain, every request kept."""

from . import anthropic, brain, gemini, openai, openai_chat
from .conversation import Conversation, Image, Message, ToolCall, ToolResult, Words
from .replies import (
    Ask,
    Delegate,
    Drop,
    Hang,
    Hold,
    Refuse,
    Reply,
    Run,
    Say,
    Think,
    Tick,
    Usage,
    Use,
    Write,
)
from .server import ModelServer, Seen

__all__ = [
    "Ask",
    "Conversation",
    "Delegate",
    "Drop",
    "Hang",
    "Hold",
    "Image",
    "Message",
    "ModelServer",
    "Refuse",
    "Reply",
    "Run",
    "Say",
    "Seen",
    "Think",
    "Tick",
    "ToolCall",
    "ToolResult",
    "Usage",
    "Use",
    "Words",
    "Write",
    "anthropic",
    "brain",
    "gemini",
    "openai",
    "openai_chat",
]
