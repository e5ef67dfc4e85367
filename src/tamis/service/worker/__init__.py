"""Pipeline process: matches the event log on Spark, beside the service and supervised by it.

`Supervisor` is the service's side. Everything else here runs in the process it starts (`__main__`): a table that
follows the store's subscriptions, the query over the event log, the recording of its answers, and backtests.
"""

from tamis.service.worker.messages import Batch, Fared
from tamis.service.worker.supervisor import PipelineStatus, Supervisor

__all__ = ["Batch", "Fared", "PipelineStatus", "Supervisor"]
