"""One optimiser step, whatever trains: the token batch, the loss, rewards and logged metrics."""
