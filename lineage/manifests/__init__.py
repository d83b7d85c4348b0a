"""The two manifests of a version: what it holds, and where its bytes rest."""
