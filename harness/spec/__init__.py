"""Declarations: experiments as data, every value with its source."""

from harness.spec.declarations import *  # noqa: F403
