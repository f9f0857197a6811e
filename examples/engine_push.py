"""The dependency engine by hand: functions that read and write variables, in the order that allows.

Anything may stand behind a variable: here numbers, files that are only pretended, and arrays. The
engine runs functions at once where their variables let it, and otherwise in the order of pushes.

    python examples/engine_push.py
"""

import argparse
import threading
import time

import ferromix as mx

engine = mx.engine


class Box:
    """A value and the variable that stands for it."""

    def __init__(self, value: float = 0) -> None:
        self.value = value
        self.var = engine.new_variable()


def read_and_write() -> None:
    """B = A + 1 and C = A + 2 may run at once; A = C * 2 waits for both, D = A + 3 for that."""
    a, b, c, d = Box(2), Box(), Box(), Box()

    def put(box: Box, value: float) -> None:
        box.value = value

    engine.push(lambda: put(b, a.value + 1), const_vars=[a.var], mutable_vars=[b.var], name="b")
    engine.push(lambda: put(c, a.value + 2), const_vars=[a.var], mutable_vars=[c.var], name="c")
    engine.push(lambda: put(a, c.value * 2), const_vars=[c.var], mutable_vars=[a.var], name="a")
    engine.push(lambda: put(d, a.value + 3), const_vars=[a.var], mutable_vars=[d.var], name="d")
    engine.delete_variable(a.var, lambda: print("A is gone"))
    engine.wait_for_var(d.var)
    engine.wait_for_all()
    print(f"B={b.value} C={c.value} D={d.value}")


def push_an_operator(rounds: int) -> None:
    """An operator: a function and its variables, worked out once, pushed again and again."""
    weight, gradient = mx.nd.ones((4,)), mx.nd.ones((4,))

    def step(run_ctx: engine.RunContext) -> None:
        if run_ctx.ctx != mx.cpu():
            raise RuntimeError(f"pushed for the CPU, run on {run_ctx.ctx}")
        weight[:] -= 0.5 * gradient

    operator = engine.new_operator(step, const_vars=[gradient], mutable_vars=[weight], name="step")
    for _ in range(rounds):
        engine.push(operator, mx.cpu(), priority=1)
        gradient *= 0.5  # Waits for the step, and the next step for it.
    engine.delete_operator(operator)
    print(f"weight after {rounds} steps: {weight.asnumpy()[0]:.6f}")


def overtake() -> None:
    """Kinds of work: what only starts something, or is urgent, waits behind nothing ordinary."""
    order, gate, done = [], threading.Event(), engine.new_variable()
    for _ in range(8):
        engine.push(lambda: gate.wait(60))

    def start(run_ctx: engine.RunContext, on_complete: engine.OnComplete) -> None:
        order.append("started")
        threading.Timer(0.01, on_complete).start()

    engine.push_async(start, mutable_vars=[done], prop=engine.FnProperty.Async)
    engine.push(
        lambda: order.append("urgent"),
        const_vars=[done],
        prop=engine.FnProperty.CPUPrioritized,
    )
    engine.wait_to_write(done)
    gate.set()
    engine.wait_for_all()
    print(f"before the ordinary ones: {', '.join(order)}")


def fail() -> None:
    """A failure surfaces at the wait for what it was to write; what depends on it is skipped."""
    page, copy = engine.new_variable(), engine.new_variable()

    def load() -> None:
        raise OSError("no such page")

    engine.push(load, mutable_vars=[page])
    engine.push(lambda: print("never"), const_vars=[page], mutable_vars=[copy])
    try:
        engine.wait_for_var(copy)
    except OSError as error:
        print(f"failed: {error}")


def stop_and_start() -> None:
    """A stopped engine has finished everything, has no workers, and refuses pushes."""
    engine.push(lambda: time.sleep(0.01), name="last")
    engine.stop()
    try:
        engine.push(print)
    except mx.MXNetError as error:
        print(f"refused: {error}")
    engine.start()
    engine.push(lambda: print("started again"))
    engine.wait_for_all()


def main() -> None:
    """All of them, one after another."""
    parser = argparse.ArgumentParser(description="The dependency engine by hand.")
    parser.add_argument("--rounds", type=int, default=10, help="how often the operator is pushed")
    options = parser.parse_args()
    read_and_write()
    push_an_operator(options.rounds)
    if engine.engine_type() != "NaiveEngine":  # That one runs each function in its push.
        overtake()
    fail()
    stop_and_start()


if __name__ == "__main__":
    main()
