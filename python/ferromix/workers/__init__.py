"""Workers that run one function on many tasks: threads, or processes over shared memory.

Whoever reads data while something else trains uses these. A pool ends with its last user, and no
thread, process or file outlives it; a process that dies fails what it had, by name.
"""

from .order import InOrder
from .processes import ProcessWorkers
from .threads import ThreadWorkers, Workers

__all__ = ["InOrder", "ProcessWorkers", "ThreadWorkers", "Workers"]
