"""Claude's list, whichever of its tools keeps it."""

from fairlead.core.engine import TodoItem, TodosChanged
from fairlead.runtimes.claude.todos import ClaudeTodos


def test_the_whole_list_at_once():
    todos = ClaudeTodos()
    given = {
        "todos": [
            {"content": "look", "status": "completed", "activeForm": "Looking"},
            {"content": "fix", "status": "in_progress", "activeForm": "Fixing"},
            {"content": "test", "status": "pending", "activeForm": "Testing"},
        ]
    }
    assert todos.start_tool("t1", "TodoWrite", given) == [
        TodosChanged((TodoItem("look", "completed"), TodoItem("fix", "in_progress"), TodoItem("test")))
    ]


def test_tasks_that_are_made_and_changed_one_by_one():
    todos = ClaudeTodos()
    assert todos.start_tool("t1", "TaskCreate", {"subject": "look", "description": "at all"}) == []
    made = todos.end_tool("t1", "Task #7 created successfully: look", ok=True)
    assert made == [TodosChanged((TodoItem("look"),))]
    todos.start_tool("t2", "TaskCreate", {"subject": "fix"})
    todos.end_tool("t2", "Task #8 created successfully: fix", ok=True)
    assert todos.start_tool("t3", "TaskUpdate", {"taskId": "7", "status": "completed"}) == [
        TodosChanged((TodoItem("look", "completed"), TodoItem("fix")))
    ]
    assert todos.start_tool("t4", "TaskUpdate", {"taskId": "8", "status": "deleted"}) == [
        TodosChanged((TodoItem("look", "completed"),))
    ]


def test_what_is_no_list_changes_nothing():
    todos = ClaudeTodos()
    assert todos.start_tool("t1", "Bash", {"command": "ls"}) == []
    assert todos.start_tool("t2", "TodoWrite", {"todos": "look"}) == []
    assert todos.start_tool("t3", "TaskUpdate", {"taskId": "99", "status": "completed"}) == []
    assert todos.end_tool("t1", "Task #1", ok=True) == []
    todos.start_tool("t4", "TaskCreate", {"subject": "look"})
    assert todos.end_tool("t4", "Error: no such thing #1", ok=False) == []
