"""``python -m studies documents``: write the numbers of all results into the documents."""

from __future__ import annotations

from studies.documents.marks import ROOT, write_documents

if __name__ == "__main__":
    for path in write_documents():
        print(path.relative_to(ROOT))
