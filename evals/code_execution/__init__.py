"""Run code written by a model, isolated from this machine.

programs.py          the program inside a response
program_grader.py    grades a benchmark's function against its tests (HumanEval)
sandbox.py           runs a function against tests, in bubblewrap
inside.py            the program inside the sandbox
"""
