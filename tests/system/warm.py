"""Imported by the server that builds are forked from: a first build's loading is done here.

Nothing here starts a thread, so that a process can be forked from it.
"""

from __future__ import annotations

import dvc.data_cloud
import dvc.repo.stage  # noqa: F401
import pyarrow.dataset  # noqa: F401
import scmrepo.git  # noqa: F401

# The kernels are read from numba's cache, or compiled, when they are first called.
import flows.build.kernels
import flows.build.pack
import flows.build.prepare  # noqa: F401
