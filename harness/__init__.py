"""Does the paper's number come back? Declarations, backends, records and tables for RLVR reproductions."""

__version__ = "0.1.0"
