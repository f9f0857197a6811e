"""ONNX models as PyTorch writes them: tests/golden/onnx/torch-NAME.onnx, with inputs and outputs.

usage: PYTHON tools/golden/make_onnx_torch.py, with one that has torch, onnx and onnxscript
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

FOLDER = Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "onnx"


class Residual(nn.Module):
    """A small residual network, with depthwise convolutions and a gate."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU6())
        self.depth = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.slopes = nn.PReLU(4)
        self.last = nn.Linear(4 * 4 * 4, 5)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.stem(x), 3, 2, 1)
        y = nn.functional.silu(self.norm(self.depth(x)))
        x = x + y * self.gate(y)
        x = self.slopes(self.up(x))
        x = nn.functional.avg_pool2d(x, 2)
        return self.last(x.flatten(1)).softmax(-1)


class Attention(nn.Module):
    """A layer of a transformer over embedded words."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)

    def forward(self, x):
        places = torch.arange(x.shape[1])
        x = self.layer(self.words(x) + torch.sin(places / 3.0)[None, :, None])
        return x.mean(1), x.argmax(-1)


class Recurrent(nn.Module):
    """An LSTM of two layers both ways, and a GRU behind."""

    def __init__(self):
        super().__init__()
        self.first = nn.LSTM(3, 4, 2, bidirectional=True)
        self.second = nn.GRU(8, 4)

    def forward(self, x):
        y, _ = self.first(x)
        y, state = self.second(y)
        return y, state


class Shapes(nn.Module):
    """Parts, masks and orders."""

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        y = torch.where(a > b, a.abs().sqrt(), b.clamp(min=-0.5))
        y = torch.cat([y[:, :, ::2], y[:, :, 1::2].flip(2)], 2)
        z = nn.functional.interpolate(y, scale_factor=2, mode="nearest")
        z = nn.functional.pad(z, (1, 0, 2, 1), value=0.5)
        values, places = y.flatten(1).topk(3)
        scaled = nn.functional.layer_norm(z, z.shape[-1:])
        return scaled, values, places, y.permute(0, 2, 3, 1).cumsum(1).amax((1, 2))


def main():
    torch.manual_seed(3)
    FOLDER.mkdir(exist_ok=True)
    for name, net, x in [
        ("residual", Residual(), torch.randn(2, 3, 16, 16)),
        ("attention", Attention(), torch.randint(0, 11, (2, 5))),
        ("recurrent", Recurrent(), torch.randn(5, 2, 3)),
        ("shapes", Shapes(), torch.randn(2, 4, 6, 6)),
    ]:
        net.eval()
        path = FOLDER / f"torch-{name}.onnx"
        with torch.no_grad():
            program = torch.onnx.export(net, (x,), dynamo=True, opset_version=18)
            found = net(x)
        model = program.model_proto
        for node in model.graph.node:
            del node.metadata_props[:]
        for part in (model.graph.input, model.graph.value_info, model.graph.output):
            for value in part:
                del value.metadata_props[:]
        del model.graph.metadata_props[:], model.metadata_props[:]
        onnx.save(model, path)
        outputs = found if isinstance(found, tuple) else (found,)
        arrays = {f"output{i}": y.numpy() for i, y in enumerate(outputs)}
        np.savez_compressed(path.with_suffix(".npz"), input=x.numpy(), **arrays)
        print(name, path.stat().st_size)


main()
