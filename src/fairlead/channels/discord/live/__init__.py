"""What Discord shows while a job lives: its status message, marks, questions with buttons."""
