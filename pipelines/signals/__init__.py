"""Signals: what is measured of a document once, so that thresholds can be set later."""
