"""Work-precision studies: which method and which step size or accuracy a model needs."""

from asperity.study.local_error import LocalErrors, local_errors
from asperity.study.methods import METHODS, Method
from asperity.study.work_precision import Study, Trial, work_precision

__all__ = [
    "METHODS",
    "LocalErrors",
    "Method",
    "Study",
    "Trial",
    "local_errors",
    "work_precision",
]
