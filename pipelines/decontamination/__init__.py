"""Decontamination: documents that hold what an evaluation asks for."""
