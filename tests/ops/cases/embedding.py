"""Tables of vectors."""

from ..case import Case


def looked_up(data, weight):
    return weight[data.astype(int).clip(0, len(weight) - 1)]


CASES = [
    Case(
        op,
        looked_up,
        (shape, (rows, width)),
        {"input_dim": rows, "output_dim": width},
        (f"below{rows}", "normal"),
        fixed=("data",),
    )
    for op, shape, rows, width in [
        ("Embedding", (3,), 2, 4),
        ("Embedding", (2, 3), 5, 1),
        ("Embedding", (0,), 2, 3),
        ("Embedding", (2,), 1, 2),
        ("Embedding", (3,), 2, 0),
        ("_contrib_SparseEmbedding", (3,), 2, 4),
    ]
]
