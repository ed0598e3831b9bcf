"""Sampling: from prompts to graded samples, resumable. One file per engine in `engines/`."""
