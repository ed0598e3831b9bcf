"""The programs that run inside the sandbox (`evals.code_execution.sandbox` starts them).

They use only the standard library and are read as text, not imported: the project is not visible inside.
"""
