"""Claude's list of what it is going to do, read off the tools by which it keeps the list. Pure.

Older versions give the whole list at once (TodoWrite); newer ones add and change single tasks (TaskCreate, TaskUpdate),
and the result of TaskCreate names the number that the task got.
"""

import re
from typing import Any, Final, Literal, cast

from fairlead.core.engine import TodoItem, TodosChanged

_NUMBER: Final = re.compile(r"#(\d+)")

Status = Literal["pending", "in_progress", "completed"]


class ClaudeTodos:
    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}
        self._created: dict[str, str] = {}

    def start_tool(self, tool_id: str, name: str, given: dict[str, Any]) -> list[TodosChanged]:
        """The list as it is when the tool has done what it was given to do; nothing if the tool is about no list."""
        match name:
            case "TodoWrite" if isinstance(given.get("todos"), list):
                self._items = {str(number): item for number, item in enumerate(_read_list(given["todos"]))}
            case "TaskCreate" if subject := _text(given.get("subject")):
                self._created[tool_id] = subject
                return []
            case "TaskUpdate" if (task_id := str(given.get("taskId", ""))) in self._items:
                self._update(task_id, given)
            case _:
                return []
        return self._tell_list()

    def end_tool(self, tool_id: str, words: str, *, ok: bool) -> list[TodosChanged]:
        subject = self._created.pop(tool_id, "")
        number = _NUMBER.search(words)
        if not subject or not ok or number is None:
            return []
        self._items[number[1]] = TodoItem(subject)
        return self._tell_list()

    def _update(self, task_id: str, given: dict[str, Any]) -> None:
        if given.get("status") == "deleted":
            del self._items[task_id]
            return
        before = self._items[task_id]
        status = _status(given["status"]) if "status" in given else before.status
        self._items[task_id] = TodoItem(_text(given.get("subject")) or before.text, status)

    def _tell_list(self) -> list[TodosChanged]:
        return [TodosChanged(tuple(self._items.values()))]


def _read_list(todos: Any) -> list[TodoItem]:
    listed = [cast("dict[str, Any]", todo) for todo in cast("list[Any]", todos) if isinstance(todo, dict)]
    return [TodoItem(text, _status(todo.get("status"))) for todo in listed if (text := _text(todo.get("content")))]


def _status(said: Any) -> Status:
    return said if said in ("in_progress", "completed") else "pending"


def _text(said: Any) -> str:
    return said.strip() if isinstance(said, str) else ""
