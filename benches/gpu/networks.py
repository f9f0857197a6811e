"""The networks that are trained: as symbols, and as modules of torch with the same layers."""

from __future__ import annotations

from typing import Any

from benches.train import conv_bn, mlp, relu

UNITS = {"resnet18": (2, 2, 2, 2), "resnet50": (3, 4, 6, 3)}
WIDTHS = {"mlp": (512, 256)}
CLASSES = {"mlp": 10, "resnet18": 1000, "resnet50": 1000}


def symbol(sym: Any, name: str, width: int) -> Any:
    """The scores of a network; ``width`` is that of the first convolution, published as 64."""
    data = sym.Variable("data")
    return mlp(sym, data) if name == "mlp" else resnet(sym, data, name, width)


def resnet(sym: Any, x: Any, name: str, width: int) -> Any:
    x = relu(sym, conv_bn(sym, x, width, 7, 2, "stem"))
    x = sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    block, last = (basic, width) if name == "resnet18" else (bottleneck, width)
    for stage, units in enumerate(UNITS[name]):
        for unit in range(units):
            filters = (width << stage) * (1 if name == "resnet18" else 4)
            stride = 2 if unit == 0 and stage > 0 else 1
            same = stride == 1 and filters == last
            x = block(sym, x, filters, stride, same, f"s{stage}u{unit}")
            last = filters
    x = sym.Flatten(sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg"))
    return sym.FullyConnected(x, num_hidden=CLASSES[name], name="fc")


def basic(sym: Any, x: Any, filters: int, stride: int, same: bool, name: str) -> Any:
    y = relu(sym, conv_bn(sym, x, filters, 3, stride, f"{name}a"))
    y = conv_bn(sym, y, filters, 3, 1, f"{name}b")
    return relu(sym, y + (x if same else conv_bn(sym, x, filters, 1, stride, f"{name}s")))


def bottleneck(sym: Any, x: Any, filters: int, stride: int, same: bool, name: str) -> Any:
    y = relu(sym, conv_bn(sym, x, filters // 4, 1, 1, f"{name}a"))
    y = relu(sym, conv_bn(sym, y, filters // 4, 3, stride, f"{name}b"))
    y = conv_bn(sym, y, filters, 1, 1, f"{name}c")
    return relu(sym, y + (x if same else conv_bn(sym, x, filters, 1, stride, f"{name}s")))


def module(torch: Any, name: str, width: int) -> Any:
    """The same in torch."""
    nn = torch.nn
    if name == "mlp":
        first, second = WIDTHS[name]
        hidden = [nn.Linear(784, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU()]
        return nn.Sequential(*hidden, nn.Linear(second, CLASSES[name]))

    def conv(before: int, after: int, kernel: int, stride: int) -> list[Any]:
        layer = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
        return [layer, nn.BatchNorm2d(after)]

    class Unit(nn.Module):
        def __init__(self, before: int, filters: int, stride: int) -> None:
            super().__init__()
            inner = filters // 4
            first, *others = (
                (conv(before, filters, 3, stride), conv(filters, filters, 3, 1))
                if name == "resnet18"
                else (
                    conv(before, inner, 1, 1),
                    conv(inner, inner, 3, stride),
                    conv(inner, filters, 1, 1),
                )
            )
            layers = [*first, *(part for other in others for part in (nn.ReLU(), *other))]
            same = stride == 1 and before == filters
            self.layers = nn.Sequential(*layers)
            self.short = nn.Identity() if same else nn.Sequential(*conv(before, filters, 1, stride))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.layers(x) + self.short(x))

    found, last = [*conv(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], width
    for stage, units in enumerate(UNITS[name]):
        for unit in range(units):
            filters = (width << stage) * (1 if name == "resnet18" else 4)
            found.append(Unit(last, filters, 2 if unit == 0 and stage > 0 else 1))
            last = filters
    head = nn.Linear(last, CLASSES[name])
    return nn.Sequential(*found, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head)
