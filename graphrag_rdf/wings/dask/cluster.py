"""An ingest's work on a Dask cluster.

The scheduler gives the work of a dead worker to another one. What fails for a reason of the cluster (no
worker left, the scheduler gone) is done in this process, so that nothing is lost.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_rdf import __version__
from graphrag_rdf.errors import ConfigError, GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.dask.settings import DaskSection

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings

T = TypeVar("T")
log = logging.getLogger(__name__)

_CONNECT = 10.0
"""Seconds in which a scheduler must answer at the beginning."""
_AGAIN = 10.0
"""Seconds between attempts to reach a scheduler that went away, and for which its work is waited for."""
_LOOK = 1.0
_PER_CORE = 4
"""Pieces of work under way for each thread of the cluster: enough that none waits for the writer."""


def workers(settings: Settings) -> AbstractContextManager[Cluster] | None:
    """The cluster that the settings or `DASK_SCHEDULER_ADDRESS` name; None if neither does."""
    address = settings.of(DaskSection).scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    return _opened(address) if address else None


@contextmanager
def _opened(address: str) -> Iterator[Cluster]:
    cluster = Cluster(address)
    try:
        yield cluster
    finally:
        cluster.close()


class Cluster:
    """Workers of a Dask cluster.

    Args:
        address: of the scheduler.

    Raises:
        ConfigError: when Dask is not installed, the scheduler does not answer or has no workers, or a worker
            has another version of this program.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ConfigError(
                tr("dask.scheduler is set, but Dask is not installed"),
                hint=tr("pip install 'graphrag-rdf[dask]'"),
            ) from error
        connect: Any = Client
        self._address, self._connect = address, connect
        self._reached = time.monotonic()
        self._failed = 0
        try:
            self._client: Any = connect(address, timeout=_CONNECT, set_as_default=False)
            cores = sum(self._client.ncores().values())
            versions = self._client.run(_version)
        except Exception as error:
            raise ConfigError(
                tr("the Dask scheduler {address} cannot be used: {cause}").format(
                    address=address, cause=error
                ),
                hint=tr("start one with: dask scheduler; and workers with: dask worker {address}").format(
                    address=address
                ),
            ) from error
        wrong = {worker: version for worker, version in versions.items() if version != __version__}
        if wrong or not cores:
            self.close()
            raise ConfigError(
                tr("workers of {address} have another version of graphrag-rdf: {workers}").format(
                    address=address,
                    workers=", ".join(f"{worker} {version}" for worker, version in wrong.items()),
                )
                if wrong
                else tr("the Dask scheduler {address} has no workers").format(address=address),
                hint=tr("install graphrag-rdf {version} on each worker").format(version=__version__),
            )
        self._cores = cores

    @property
    def ahead(self) -> int:
        """See `ingest.workers.Workers`."""
        return int(self._cores) * _PER_CORE

    def submit(self, work: Callable[..., T], *arguments: Any) -> Callable[[], T]:
        """See `ingest.workers.Workers`."""
        future = self._begin(work, arguments)
        return lambda: self._result(future, work, arguments)

    def _begin(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self._client.status != "running" and not self._reconnect():
            return None
        try:
            return self._client.submit(work, *arguments, pure=False, retries=1)
        except Exception as error:  # noqa: BLE001 - of many kinds; the work is done here
            self._report(error)
            return None

    def _result(self, future: Any, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        if future is not None:
            try:
                result: T = self._waited(future)
            except GraphRagError:
                raise
            except Exception as error:  # noqa: BLE001 - a defect of the program comes again here
                self._report(error)
            else:
                return result
            finally:
                with suppress(Exception):
                    future.release()
        return work(*arguments)

    def _waited(self, future: Any) -> Any:
        """The result of some work.

        Raises:
            ConnectionError: the scheduler has been away for too long.
        """
        gone: float | None = None
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.done():  # of the work itself
                    raise
                if future.client.status == "running" and future.client.ncores():
                    gone = None
                    continue
                gone = gone or time.monotonic()
                if time.monotonic() - gone > _AGAIN:
                    raise ConnectionError(tr("the scheduler is gone")) from None

    def _reconnect(self) -> bool:
        """Try to reach the scheduler again, now and then; whether it answers."""
        if time.monotonic() - self._reached < _AGAIN:
            return False
        self._reached = time.monotonic()
        with suppress(Exception):
            self._client.close(timeout=1)
        try:
            self._client = self._connect(self._address, timeout=_LOOK, set_as_default=False)
        except Exception as error:  # noqa: BLE001
            self._report(error)
            return False
        return True

    def _report(self, error: Exception) -> None:
        self._failed += 1
        if self._failed == 1:
            log.warning(
                tr("the Dask cluster fails, so this process does its work: {cause}").format(cause=error)
            )

    def close(self) -> None:
        """Let go of the cluster."""
        with suppress(Exception):
            self._client.close(timeout=5)


def _version() -> str:
    from graphrag_rdf import __version__

    return __version__
