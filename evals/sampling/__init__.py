"""Sampling: prompts in, graded samples out, resumable; one engine a file in `engines/`."""
