"""A fixed small budget on one GPU: the same model, problems, rollouts and evaluation for every method (README.md)."""
