"""The docket: public cases of "the number does not come back", ruled by `rlvr agree`."""
