"""An LSTM of data in eight bits, against that of the numbers that they stand for."""

from ..case import Case, Refused
from .rnn import network

NAMES = ("data", "parameters", "state", "state_cell", "data_scale", "data_shift")
ONE = {"mode": "lstm", "state_size": 2, "num_layers": 1}
MORE = {"mode": "lstm", "state_size": 3, "num_layers": 2, "bidirectional": True}


def oracle(attrs):
    def run(data, *rest):
        *states, scale, shift = rest
        return network(**attrs)((data - shift) / scale, *states)

    return run


def case(shapes, attrs):
    domains = ("below5", *["normal"] * 3, "positive", "normal")
    shapes = (*shapes, (1,), (1,))
    more = {"mixed": ("uint8", *["float32"] * 5), "fixed": NAMES, "steps": 200}
    heads = 3 if attrs.get("state_outputs") else 1
    name = "_contrib_quantized_rnn"
    return Case(name, oracle(attrs), shapes, attrs, domains, heads=heads, **more)


CASES = [
    case([(3, 2, 4), (64,), (1, 2, 2), (1, 2, 2)], ONE),
    case([(2, 1, 2), (432,), (4, 1, 3), (4, 1, 3)], {**MORE, "state_outputs": True}),
    case([(0, 2, 4), (64,), (1, 2, 2), (1, 2, 2)], {**ONE, "p": 0.5}),
]
REFUSED = [
    Refused("_contrib_quantized_rnn", ("'lstm'", "'gru'"), None, {**ONE, "mode": "gru"}),
    Refused(
        "_contrib_quantized_rnn", ("use_sequence_length",), None, {**ONE, "use_sequence_length": 1}
    ),
    Refused(
        "_contrib_quantized_rnn",
        ("'data_scale'", "(2,)", "(1,)"),
        ((3, 2, 4), (64,), (1, 2, 2), (1, 2, 2), (2,), (1,)),
        ONE,
    ),
]
