"""Public training logs and verdicts of other labs, and audits of scores printed about them."""
