"""From finished runs to the paper's tables and claims: published beside measured."""
