"""Run code written by a model, isolated from this machine.

programs.py          the program inside a response
program_grader.py    grades a benchmark's function against its tests (HumanEval)
function_sandbox.py  calls the function from tests that it cannot see, change or outlive
script_sandbox.py    runs a whole program and returns what it prints (tool use)
inside/              the code that runs inside the sandbox
"""
