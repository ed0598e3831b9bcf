"""Running a model's code: the programs that run inside the sandbox (`evals.sandbox` starts them).

They use the standard library alone and are read, not imported: inside there is no project.
"""
