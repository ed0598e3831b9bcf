"""Running a model's code: the programs that run inside the sandbox (`evals.code_execution.function_sandbox` starts
them).

They use the standard library alone and are read, not imported: inside there is no project.
"""
