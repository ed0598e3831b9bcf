"""The papers' methods and their placebos on real pretrained weights, on two cores (results/real)."""
