"""Does released code compute its paper's equation? `python -m benchmarks.released FOLDER [CASE ...] [--write]`.

FOLDER holds checkouts, brought with git (`--list` prints the commands). Each case imports the authors' code in a
process of its own, drives its update step with drawn batches, and compares the gradient with the paper's equation as
declared in this repository. Nothing of that code is copied here.
"""
