"""Source that calls every method of a distributed store, and compares with NumPy in one process."""

METHODS = """
import pickle

kv = mx.kv.create(KIND)
W, me = kv.num_workers, kv.rank
assert (kv.type, W) == (KIND, int(os.environ["OMPI_COMM_WORLD_SIZE"]))
assert kv.is_capable("optimizer")
assert kv.num_dead_node() == kv.get_num_dead_node(0) == 0
SHAPES = {"name": (3, 4), 7: (2000,), "7": (5,), "scalar": (), "none": (0, 3), 9: (130, 2)}
KEYS = list(SHAPES)

def numbers(rank, step, shape):
    # Small whole numbers: sums of their halves are exact, in whatever order.
    return np.random.default_rng([rank, step]).integers(-4, 5, shape).astype("float32")

def total(step, shape, times=1):
    return times * sum((numbers(r, step, shape) for r in range(W)), np.zeros(shape, "float32"))

def check(store, expected):
    # What was pushed is sent when its gradients are there, and applied when all have met.
    mx.nd.waitall()
    store.barrier()
    outs = [[mx.nd.full(v.shape, 9), mx.nd.full(v.shape, 9)] for v in expected.values()]
    store.pull(list(expected), out=outs, priority=1)
    for (key, value), pair in zip(expected.items(), outs):
        for out in pair:
            np.testing.assert_array_equal(out.asnumpy(), value, str(key))
    store.barrier()

def pushed(store, step, shapes, **options):
    arrays = [mx.nd.array(numbers(me, step, s)) for s in shapes.values()]
    store.push(list(shapes), arrays, **options)
    for array, shape in zip(arrays, shapes.values()):
        np.testing.assert_array_equal(array.asnumpy(), numbers(me, step, shape))

# The values of the first rank hold; without an updater, a sum takes the place of the value.
kv.init(KEYS, [mx.nd.array(numbers(me, 0, s)) for s in SHAPES.values()])
values = {k: numbers(0, 0, s) for k, s in SHAPES.items()}
check(kv, values)
kv.broadcast("late", mx.nd.full((2,), me + 3), out=(late := mx.nd.zeros((2,))))
assert late.asnumpy().tolist() == [3, 3]
if KIND != "dist_async":
    pushed(kv, 1, SHAPES, priority=3)
    values = {k: total(1, s) for k, s in SHAPES.items()}
    check(kv, values)
    one, two = (mx.nd.array(numbers(me, 2, (3, 4))) for _ in range(2))
    kv.pushpull("name", [one, two])
    for array in (one, two):
        np.testing.assert_array_equal(array.asnumpy(), total(2, (3, 4), 2))
    values["name"] = total(2, (3, 4), 2)

# Updates: of the user, of an optimizer, of one that comes as a command.
kv.set_updater(lambda key, received, stored: stored.__iadd__(received * 2))
pushed(kv, 3, SHAPES)
values = {k: v + total(3, v.shape, 2) for k, v in values.items()}
check(kv, values)
kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
for step in (4, 5):
    pushed(kv, step, SHAPES, priority=-step)
out = mx.nd.zeros((2000,))
kv.pushpull(7, [mx.nd.array(numbers(me, 6, (2000,)))] * 3, out=out)
out.wait_to_read()
values = {k: v - 0.5 * (total(4, v.shape) + total(5, v.shape)) for k, v in values.items()}
values[7] = values[7] - 0.5 * total(6, (2000,), 3)
check(kv, values)
kv.send_command_to_servers(0, pickle.dumps(mx.optimizer.SGD(learning_rate=0.25)))
pushed(kv, 7, SHAPES)
values = {k: v - 0.25 * total(7, v.shape) for k, v in values.items()}
check(kv, values)

# Rows: each rank has some of its own, and one that all have.
def rows(rank):
    data = numbers(rank, 20, (2, 3))
    return mx.nd.sparse.row_sparse_array((data, [rank, W]), shape=(W + 2, 3))

shape = (W + 2, 3)
for stype in ("row_sparse", "default"):
    kv.init(stype, mx.nd.ones(shape).tostype(stype))
    kv.push(stype, [rows(me), rows(me)])
expected = 1 - 0.25 * 2 * sum(rows(r).asnumpy() for r in range(W))
check(kv, {"default": expected})
out, other = (mx.nd.zeros(shape).tostype("row_sparse") for _ in range(2))
kv.row_sparse_pull("row_sparse", out=out, row_ids=mx.nd.array([W, me, W]))
kv.row_sparse_pull(["row_sparse"], out=[other], row_ids=[mx.nd.arange(W + 2)])
np.testing.assert_array_equal(out.asnumpy()[[me, W]], expected[[me, W]])
assert not np.delete(out.asnumpy(), [me, W], 0).any()
np.testing.assert_array_equal(other.asnumpy(), expected)

# Many keys at once, in another order on each rank.
many = {i: (i % 5 + 1,) for i in range(10_000, 10_000 + COUNT)}
kv.init(list(many), [mx.nd.zeros(s) for s in many.values()])
order = np.random.default_rng(me).permutation(list(many)).tolist()
pushed(kv, 30, {k: many[k] for k in order})
def seen(rank):
    order = np.random.default_rng(rank).permutation(list(many)).tolist()
    return {k: numbers(rank, 30, many[k]) for k in order}
parts = [seen(r) for r in range(W)]
check(kv, {k: -0.25 * sum(p[k] for p in parts) for k in many})

# The state of an optimizer: saved, loaded, and of use.
again = mx.kv.create(KIND)
again.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
again.init(KEYS, [mx.nd.zeros(s) for s in SHAPES.values()])
if me == 0:
    pushed(again, 40, SHAPES)
elif KIND != "dist_async":  # momentum takes turns; so only one rank has gradients
    again.push(KEYS, [mx.nd.zeros(s) for s in SHAPES.values()])
mx.nd.waitall()
again.barrier()
again.save_optimizer_states(FILE)
again.load_optimizer_states(FILE)
states = pickle.loads(open(FILE, "rb").read()) if me == 0 else {}
velocity = {k: -0.5 * numbers(0, 40, s) for k, s in SHAPES.items()}
for key, state in states.items():
    np.testing.assert_array_equal(state.asnumpy(), velocity[key], str(key))
assert me or set(states) == set(KEYS)
if me == 0 or KIND != "dist_async":
    again.push(KEYS, [mx.nd.zeros(s) for s in SHAPES.values()])
check(again, {k: 1.5 * v for k, v in velocity.items()})

# In fewer bits, with what is left over.
def sent(how, gradient, left):
    if how == "fp16":
        return gradient.astype("float16").astype("float32")
    left += gradient
    if how == "1bit":
        said = np.where(left > 0.5, 1, -1).astype("float32")
    else:
        said = (np.where(left >= 0.5, 0.5, 0) - np.where(left <= -0.5, 0.5, 0)).astype("float32")
    left -= said
    return said

for how in ("2bit", "1bit", "fp16"):
    few = mx.kv.create(KIND)
    few.set_gradient_compression({"type": how, "threshold": 0.5})
    few.init(KEYS, [mx.nd.zeros(s) for s in SHAPES.values()])
    few.set_optimizer(mx.optimizer.SGD(learning_rate=1))
    left = {(k, r): np.zeros(s, "float32") for k, s in SHAPES.items() for r in range(W)}
    values = {k: np.zeros(s, "float32") for k, s in SHAPES.items()}
    for step in range(50, 53):
        arrays = [mx.nd.array(numbers(me, step, s) / 8) for s in SHAPES.values()]
        few.push(KEYS, arrays)
        for k, s in SHAPES.items():
            for r in range(W):
                values[k] = values[k] - sent(how, numbers(r, step, s) / 8, left[k, r])
    check(few, values)
kv.join()
say("done")
"""


def settings(kind: str, file: str, count: int) -> str:
    """What the source needs: the kind of store, a file for states, the number of small keys."""
    return f"KIND, FILE, COUNT = {kind!r}, {file!r}, {count}\n"
