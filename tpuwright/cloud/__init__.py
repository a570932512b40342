"""Thin typed readers of Google's APIs, and their errors in plain words."""
