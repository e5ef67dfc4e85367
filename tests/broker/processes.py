"""Brokers as processes of their own, certificates for them, and a link that can be cut."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "a token that is long enough"
SCHEMA_TEXT = """
attributes: {serial: integer, price: integer, kind: string}
event_types:
  sale: {serial: mandatory, price: optional, kind: optional}
"""
_PEM = serialization.Encoding.PEM


def make_certificates(folder: Path) -> None:
    """An authority (ca.pem), and what it has signed: cert.pem with key.pem, for this machine."""
    now = dt.datetime.now(dt.UTC)
    names = {part: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, part)]) for part in ("authority", "broker")}
    keys = {part: ec.generate_private_key(ec.SECP256R1()) for part in names}
    for part, name in names.items():
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(names["authority"])
            .public_key(keys[part].public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=part == "authority", path_length=None), critical=True)
        )
        if part == "broker":
            local = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            made = made.add_extension(x509.SubjectAlternativeName(local), critical=False)
        signed = made.sign(keys["authority"], hashes.SHA256())
        (folder / {"authority": "ca.pem", "broker": "cert.pem"}[part]).write_bytes(signed.public_bytes(_PEM))
    private = keys["broker"].private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "sales.yaml").write_text(SCHEMA_TEXT)


@dataclass(slots=True)
class BrokerAtWork:
    """A broker process. It keeps its address and its state when it is killed and started again."""

    folder: Path
    name: str
    links: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    address: str = "127.0.0.1:0"
    process: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """Starts it, without waiting."""
        files = {"--tls-cert": "cert.pem", "--tls-key": "key.pem", "--tls-ca": "ca.pem", "--token-file": "token"}
        command = [sys.executable, "-m", "tamis.cli", "broker", "--schema", str(self.folder / "sales.yaml")]
        command += ["--listen", self.address, "--data", str(self.folder / self.name), "--name", self.name]
        command += [part for option, file in files.items() for part in (option, str(self.folder / file))]
        command += [part for link in self.links for part in ("--link", link)] + self.options
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)

    def wait_until_ready(self) -> str:
        """Its address, when it listens."""
        assert self.process is not None
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            if line.startswith("listens"):
                self.address = line.split()[1]
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return self.address
        raise AssertionError(f"{self.name} did not start: {''.join(said)}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)


class CuttableLink:
    """A port of this machine that leads to another, until it is cut; then nothing gets through either way.

    Both ends see that it is cut. That it swallows neither of them sees: connections stand and bytes vanish, until it
    is restored, which breaks them off.
    """

    def __init__(self, target: str) -> None:
        self._target = target.rpartition(":")
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_cut = self._swallows = False
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.address: str = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    async def _listen(self) -> str:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        host, _, port = self._target
        try:
            further, onward = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.close()
            return
        self._writers |= {writer, onward}
        await asyncio.gather(self._pass_on(reader, onward), self._pass_on(further, writer))

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                if not self._swallows:
                    writer.write(data)
                    await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            if not self._swallows:
                writer.close()

    def swallow(self) -> None:
        self._swallows = True

    def cut(self) -> None:
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    async def _cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def restore(self) -> None:
        self.cut()
        self._is_cut = self._swallows = False

    def close(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
