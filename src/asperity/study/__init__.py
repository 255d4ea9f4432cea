"""Work-precision studies: which method and which step size or accuracy a model needs."""

from asperity.study.local_error import LocalErrors, local_errors
from asperity.study.methods import Method, study_methods
from asperity.study.work_precision import Study, Trial, work_precision

__all__ = [
    "LocalErrors",
    "Method",
    "Study",
    "Trial",
    "local_errors",
    "study_methods",
    "work_precision",
]
