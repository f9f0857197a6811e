"""The device of the tests, and what only the stand-in can tell."""

from __future__ import annotations

import ctypes
import os

__all__ = ["HOST", "driver", "races", "schedule", "synchronize"]


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


HOST = os.environ.get("FERROMIX_GPU_DRIVER") == "host" or not _has_driver()
"""Whether the stand-in is the driver."""
EAGER, ON_WAIT, RANDOM, STARVED = range(4)


def driver() -> ctypes.CDLL:
    """The stand-in's library."""
    from ferromix.dispatch import host_driver

    return ctypes.CDLL(str(host_driver.library()))


def races() -> str:
    """The uses of the same memory that nothing orders, since it was asked last."""
    if not HOST:
        return ""
    library = driver()
    library.fm_host_races.restype = ctypes.c_char_p
    return library.fm_host_races().decode()


def schedule(policy: int, seed: int = 0) -> None:
    """How streams run from now on; a real GPU decides itself."""
    if HOST:
        driver().fm_host_schedule(ctypes.c_int(policy), ctypes.c_ulonglong(seed))


def synchronize() -> None:
    """Waits for all devices of the stand-in, behind the runtime's back."""
    library, count = driver(), ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    for number in range(count.value):
        context = ctypes.c_void_p()
        library.cuDevicePrimaryCtxRetain(ctypes.byref(context), ctypes.c_int(number))
        library.cuCtxSetCurrent(context)
        library.cuCtxSynchronize()
