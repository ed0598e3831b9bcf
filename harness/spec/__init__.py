"""Declarations: what an experiment is, and where each of its values comes from."""

from harness.spec.declarations import *  # noqa: F403
