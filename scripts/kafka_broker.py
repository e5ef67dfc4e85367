"""A Kafka broker of one's own, for tests: one node, on loopback, gone when it is no longer needed.

    python -m scripts.kafka_broker            # prints the address, runs until interrupted

The jars come from Maven Central by their coordinates, once; Spark's own copy of Ivy fetches them. Needs Java 17+ and
the Spark extra.
"""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

from scripts.server_process import NotStartedError, ServerProcess, free_ports

VERSION = "4.1.0"
ARTIFACT = f"org.apache.kafka:kafka_2.13:{VERSION}"

_FETCH_SECONDS = 600


class BrokerUnavailableError(Exception):
    """There is no broker to be had here; the text says what it would take."""


class Broker:
    """A broker while it is entered; `servers` is its address. With a `password` it knows one user, `tamis`.

    Its data lies in a temporary folder.
    """

    def __init__(self, password: str | None = None) -> None:
        self.servers = ""
        self._password = password
        self._folder = Path()
        self._java: list[str] = []
        self._process: ServerProcess | None = None

    def __enter__(self) -> Self:
        jars = fetched(f"kafka-{VERSION}", ARTIFACT)
        self._folder = Path(tempfile.mkdtemp(prefix="tamis-kafka-"))
        port, controller = free_ports(2)
        self.servers = f"127.0.0.1:{port}"
        settings = self._folder / "server.properties"
        settings.write_text(_settings(port, controller, self._folder / "data", self._password))
        self._java = ["java", "-Xmx512m", "-Dlog4j2.level=INFO", "-cp", _classpath(jars)]
        formatted = [*self._java, "kafka.tools.StorageTool", "format", "-t", uuid.uuid4().hex[:22], "-c", str(settings)]
        told = subprocess.run(formatted, capture_output=True, text=True, check=False)
        if told.returncode:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise BrokerUnavailableError(f"the broker's storage could not be prepared: {told.stderr.strip()[-300:]}")
        try:
            self.start()
        except NotStartedError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise BrokerUnavailableError(f"the broker did not start: {error}") from error
        return self

    def start(self) -> None:
        """Starts it, also again after `kill`, over the same topics; NotStartedError if it does not come up."""
        settings = str(self._folder / "server.properties")
        self._process = ServerProcess([*self._java, "kafka.Kafka", settings], "Kafka Server started")

    def kill(self) -> None:
        """Ends it at once, as a power cut would."""
        assert self._process is not None
        self._process.stop(signal.SIGKILL)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def fetched(name: str, *artifacts: str, transitive: bool = True) -> Path:
    """A folder of these artifacts (group:name:version) from Maven Central, beside the Python packages, fetched once."""
    folder = Path(sys.prefix) / name
    if folder.exists():
        return folder
    if shutil.which("java") is None:
        raise BrokerUnavailableError("a Kafka broker needs Java 17 or newer on the PATH")
    unfinished = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    for artifact in artifacts:
        ivy = ["java", "-cp", f"{_spark_jars()}/*", "org.apache.ivy.Main", "-dependency", *artifact.split(":")]
        wanted = ["-types", "jar", "bundle", *([] if transitive else ["-notransitive"])]
        target = ["-retrieve", f"{unfinished}/[artifact]-[revision].[ext]"]
        try:
            told = subprocess.run(
                [*ivy, *wanted, *target], capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise BrokerUnavailableError("Maven Central did not answer in time") from error
        if told.returncode or not list(unfinished.glob(f"{artifact.split(':')[1]}-*.jar")):
            shutil.rmtree(unfinished, ignore_errors=True)
            raise BrokerUnavailableError(f"Maven Central does not give {artifact} here")
    unfinished.rename(folder)
    return folder


def spark_connector() -> str:
    """The jars of Spark's connector, as `spark.jars` wants them: this Spark's own, or the newest that there is."""
    own = version("pyspark")
    spark, kafka, commons = "org.apache.spark", "org.apache.kafka", "org.apache.commons"
    kafka_parts = (f"{kafka}:kafka-clients:3.9.1", f"{commons}:commons-pool2:2.12.1")
    for connector, tokens in ((own, own), ("4.2.0", "4.1.0-preview1")):
        spark_parts = (
            f"{spark}:spark-sql-kafka-0-10_2.13:{connector}",
            f"{spark}:spark-token-provider-kafka-0-10_2.13:{tokens}",
        )
        try:
            jars = fetched(f"kafka-connector-{connector}", *spark_parts, *kafka_parts, transitive=False)
        except BrokerUnavailableError as error:
            missing = error
        else:
            return ",".join(map(str, jars.glob("*.jar")))
    raise missing


def _classpath(jars: Path) -> str:
    # The broker brings no logger, and without one it would not say when it is ready.
    logging = [str(jar) for name in ("log4j-*", "slf4j-*") for jar in _spark_jars().glob(f"{name}.jar")]
    return ":".join([*logging, f"{jars}/*"])


def _spark_jars() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise BrokerUnavailableError("the broker's jars are fetched with Spark's: pip install 'tamis[spark]'")
    return Path(found.origin).parent / "jars"


def _settings(port: int, controller: int, data: Path, password: str | None) -> str:
    protocol = "PLAINTEXT" if password is None else "SASL_PLAINTEXT"
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": f"{protocol}:{protocol},CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": protocol,
        "log.dirs": data,
        "num.partitions": 2,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
    }
    if password is not None:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        login = f'username="tamis" password="{password}" user_tamis="{password}"'
        settings |= {
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} required {login};",
        }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


if __name__ == "__main__":
    try:
        with Broker() as broker:
            print(broker.servers, flush=True)
            signal.pause()
    except KeyboardInterrupt:
        pass
    except BrokerUnavailableError as error:
        sys.exit(str(error))
