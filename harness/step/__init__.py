"""One optimiser step, the same for every backend: the token batch, the loss, rewards and logged metrics."""
