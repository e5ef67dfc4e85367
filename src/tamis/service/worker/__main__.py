"""Entry point of the pipeline process: `python -m tamis.service.worker`. Its settings are the first line of standard
input.
"""

import sys

from tamis.service.worker.process import main

sys.exit(main())
