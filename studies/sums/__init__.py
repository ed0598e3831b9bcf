"""A training of a real pretrained model on two cores: SmolLM2-135M-Instruct learns sums of two-digit numbers."""
