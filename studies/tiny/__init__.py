"""The tiny-scale study: every method under the same conditions, many seeds, two task families, placebos, controls.

design.py    what is trained and compared, declared before the first run
jobs.py      the design as jobs: the search for settings, then the runs that count
tuning.py    the settings that the search chose
outcomes.py  the results for each claim, placebo and control
page.py      the pages and figures of results/study
"""
