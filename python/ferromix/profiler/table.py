"""The times of a profile, by name, as MXNet prints them."""

from __future__ import annotations

import json

MEMORY = "Memory: cpu/0"

# Category, name, count; total, shortest and longest time in milliseconds.
Row = tuple[str, str, int, float, float, float]


def as_json(sections: dict[str, list[Row]], memory: list[float]) -> str:
    """All times and the memory in use, as JSON."""
    time = {
        section: {
            name: {"Count": count, "Total": total, "Min": low, "Max": high, "Avg": total / count}
            for _, name, count, total, low, high in rows
        }
        for section, rows in sections.items()
    }
    used = {}
    if memory:
        average = sum(memory) / len(memory)
        used = {"Count": len(memory), "Min": min(memory), "Max": max(memory), "Avg": average}
    memory_of = {"Device Storage": {MEMORY: used}} if used else {}
    units = {"Time": "ms", "Memory": "kB"}
    return json.dumps({"Time": time, "Memory": memory_of, "Unit": units})


def as_table(sections: dict[str, list[Row]], memory: list[float]) -> str:
    """The same as a table for people."""
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]

    def section(title: str, columns: list[str], rows: list[tuple[str, int, list[float]]]) -> None:
        heads = ["Total Count", *columns]
        lines.extend([title, "================="])
        lines.append(f"{'Name':<25}{heads[0]:>16}" + "".join(f" {h:>16}" for h in heads[1:]))
        dashes = ["-" * len(head) for head in heads]
        lines.append(f"{'----':<25}{dashes[0]:>16}" + "".join(f" {d:>16}" for d in dashes[1:]))
        for name, count, values in rows:
            lines.append(f"{name:<25}{count:>16}" + "".join(f" {v:>16.4f}" for v in values))
        lines.append("")

    if memory:
        used = [min(memory), max(memory), sum(memory) / len(memory)]
        columns = ["Min Use  (kB)", "Max Use  (kB)", "Avg Use  (kB)"]
        section("Device Storage", columns, [(MEMORY, len(memory), used)])
    columns = ["Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"]
    for title, rows in sections.items():
        values = [(r[1], r[2], [r[3], r[4], r[5], r[3] / r[2]]) for r in rows]
        section(title, columns, values)
    return "\n".join(lines) + "\n"
