"""Entry point of an examiner process: `python -m tamis.service.examining`, started by a service."""

from __future__ import annotations

from tamis.service.examining.answering import main

if __name__ == "__main__":
    main()
