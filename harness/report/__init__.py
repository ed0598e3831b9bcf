"""The report of a paper: one HTML file that needs nothing else.

data.py gathers, page.py writes (pure), viewer.py packs the responses, viewer.js and style.css go into the page.
"""
