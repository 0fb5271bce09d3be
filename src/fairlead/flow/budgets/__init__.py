"""Budgets of projects: who is asked when one is spent."""
