"""The pipeline process: Spark over the event log, beside the service and supervised by it.

`Supervisor` is what the service sees. Everything else here runs in the process it starts (`__main__`): a table that
follows the store's subscriptions, the query over the event log, the recording of its answers, and backtests.
"""

from tamis.service.matching.faring import Fared
from tamis.service.matching.messages import Batch
from tamis.service.matching.supervisor import PipelineStatus, Supervisor

__all__ = ["Batch", "Fared", "PipelineStatus", "Supervisor"]
