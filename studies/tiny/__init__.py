"""The tiny-scale study: every method under the same conditions, many seeds, two task families, placebos, controls.

design.py    what is trained and compared, declared before the first run
jobs.py      the jobs, with the settings that the search chose
scores.py    the tables of results/study: written from finished runs, and read again
outcomes.py  the results for each claim, placebo and control
page.py      the page of results/study
figures.py   its figures
"""
