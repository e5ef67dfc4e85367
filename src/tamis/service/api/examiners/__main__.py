"""The process of an examiner: `python -m tamis.service.api.examiners`, started by a service."""

from __future__ import annotations

from tamis.service.api.examiners.answering import main

if __name__ == "__main__":
    main()
