"""The only module that imports mpi4py: the processes, and messages between them.

An extra of the package (``pip install "ferromix[dist]"``) brings mpi4py and Open MPI; clusters
have an MPI of their own, for which mpi4py is built.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...error import MXNetError

__all__ = ["ANY", "Communicator", "Request"]

ANY = -1
"""As the source of a message: whoever sends one."""
Request = Any
"""A message under way; see :meth:`Communicator.all_done`."""


@dataclass
class _FromAny:
    """A request to receive from anybody, which may have to be made anew."""

    mpi: Any
    into: np.ndarray
    tag: int


class Communicator:
    """The processes that were started together, numbered from 0.

    All of its methods are for one thread at a time. Where MPI outlives processes that die
    (`tolerant`: Open MPI was started with ``--with-ft ulfm``), `lost` has those that did; messages
    to them count as sent, and none come from them.

    Raises
    ------
    MXNetError
        Where mpi4py or an MPI library is missing, or MPI was started for one thread only.
    """

    def __init__(self) -> None:
        try:
            import mpi4py

            mpi4py.rc.initialize = mpi4py.rc.finalize = False
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise MXNetError(
                f"KVStore: distributed stores need mpi4py and an MPI library ({error}); "
                'pip install "ferromix[dist]" brings both'
            ) from error
        self._mpi: Any = MPI
        self._ours = not MPI.Is_initialized()
        if self._ours:
            _start(MPI)
        if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
            raise MXNetError(
                "KVStore: MPI was initialized for one thread, and a store uses it on a thread of "
                "its own; initialize it with MPI_THREAD_MULTIPLE"
            )
        self._comm = MPI.COMM_WORLD.Dup()
        self._comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self.tolerant = os.environ.get("OMPI_MCA_mpi_ft_enable", "0") not in ("0", "false")
        self.lost: frozenset[int] = frozenset()

    def send(self, data: np.ndarray | bytes, to: int, tag: int) -> Request:
        """Starts to send bytes; they must stay as they are until the request is done."""
        return self._begin(self._comm.Isend, [data, self._mpi.BYTE], to, tag)

    def receive(self, into: np.ndarray, source: int, tag: int) -> Request:
        """Starts to receive at most as many bytes as `into` holds."""
        if source == ANY:
            return _FromAny(self._receive_any(into, tag), into, tag)
        return self._begin(self._comm.Irecv, [into, self._mpi.BYTE], source, tag)

    def _receive_any(self, into: np.ndarray, tag: int) -> Any:
        return self._begin(self._comm.Irecv, [into, self._mpi.BYTE], self._mpi.ANY_SOURCE, tag)

    def all_done(self, requests: Sequence[Request]) -> bool:
        """Whether all are done; what is under way goes on meanwhile."""
        try:
            return self._mpi.Request.Testall(requests)
        except self._mpi.Exception as error:
            self._note_loss(error)
            # One by one: those that failed are none any more, and count as done.
            return all([self._is_done(request) for request in requests])

    def source_of(self, request: _FromAny) -> tuple[int, int] | None:
        """The source of a message and its bytes, if the request to receive any is done."""
        status = self._mpi.Status()
        try:
            if not request.mpi.Test(status):
                return None
        except self._mpi.Exception as error:
            self._note_loss(error)
            if not self._finish(request.mpi, status):
                request.mpi = self._receive_any(request.into, request.tag)
                return None
        return status.Get_source(), status.Get_count(self._mpi.BYTE)

    def _finish(self, request: Any, status: Any) -> bool:
        """Whether a request that a death disturbed received something; it is over then, anyhow.

        MPI promises that it goes on once the death is acknowledged; in Open MPI it may not.
        """
        try:
            request.Cancel()
            request.Wait(status)
        except self._mpi.Exception as error:
            self._note_loss(error)
            return False
        return not status.Is_cancelled()

    def cancel(self, request: _FromAny) -> None:
        """Receives no more."""
        request.mpi.Cancel()
        request.mpi.Free()

    def finalize(self) -> None:
        """Leaves MPI, if it was entered here; all processes must."""
        # Without those that died, Open MPI may wait for ever there; it allows to end without.
        if self._ours and not self.lost:
            self._mpi.Finalize()

    def abort(self) -> None:
        """Ends all processes at once."""
        self._comm.Abort(1)

    def _begin(self, do: Callable[..., Request], *what: object) -> Request:
        try:
            return do(*what)
        except self._mpi.Exception as error:
            self._note_loss(error)
            return self._mpi.REQUEST_NULL

    def _is_done(self, request: Request) -> bool:
        try:
            return request.Test()
        except self._mpi.Exception as error:
            self._note_loss(error)
            return True

    def _note_loss(self, error: Exception) -> None:
        """Finds out who died, or raises an error that is of something else."""
        if not self.tolerant:
            raise error
        self._comm.Ack_failed()
        failed, everybody = self._comm.Get_failed(), self._comm.Get_group()
        self.lost = frozenset(self._mpi.Group.Translate_ranks(failed, None, everybody))
        if not self.lost:
            raise error


def _start(mpi: Any) -> None:
    """Enters MPI, which waits for all processes.

    Not by mpi4py, which keeps the interpreter to itself meanwhile: no other thread would run, and
    no signal be heard.
    """
    library, provided = ctypes.CDLL(mpi.__file__), ctypes.c_int()
    failed = library.MPI_Init_thread(None, None, mpi.THREAD_MULTIPLE, ctypes.byref(provided))
    if failed:
        raise MXNetError(f"KVStore: MPI did not start: {mpi.Get_error_string(failed)}")
    for comm in (mpi.COMM_SELF, mpi.COMM_WORLD):
        comm.Set_errhandler(mpi.ERRORS_RETURN)
