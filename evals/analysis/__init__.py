"""Analyses of models and their responses. The constants name the papers in captions."""

EGSW = "arXiv 2503.22456"
ERPO = "arXiv 2603.28204"
ENTROPY_ADVANTAGE = "arXiv 2506.14758"
FORKING_TOKENS = "arXiv 2506.01939"
TRIAL_AND_ERROR = "arXiv 2508.07534"
