"""Rejection-sampling fine-tuning: its declaration, and the rounds that run it."""
