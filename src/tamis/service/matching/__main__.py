"""`python -m tamis.service.matching`: the pipeline process. Its settings are the first line of standard input."""

import sys

from tamis.service.matching.process import main

sys.exit(main())
