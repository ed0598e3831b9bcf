"""Sampling: from prompts to graded samples, resumable; one file per engine in `engines/`."""
