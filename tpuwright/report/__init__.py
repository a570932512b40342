"""The report of a verification: its model, its judgement, and how people and programs see it."""
