"""Measurements on one GPU: optimiser steps, the token pass, the cost of methods, tiny arms, determinism."""
