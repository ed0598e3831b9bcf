"""What one GPU does: optimiser steps, the token pass, the cost of methods, tiny arms, determinism."""
