"""LeNet-5 on handwritten digits in three spellings with one loss curve: plain NumPy, PyTorch's and MindSpore's.

The plain one is `mlirad.value_and_grad` of a function on arrays, and is trained to the end in float32. Then all three
begin with the same weights, in float64: their curves agree to the last digits. The picture is the loss of each step
(orange), and the mean over an epoch (blue).

    python examples/lenet_spellings.py [steps in float64: 20, unless given; 528 is to the end]
"""

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from pictures.png import drawn, save
from pictures.progress import progress

sys.path.append(str(Path(__file__).parent / "lenet"))

import lenet_mindspore
import lenet_plain
import lenet_torchlike
from lenet_digits import BATCH, TRAINING, accuracy, digits

COLOURS = (0.1, 0.2, 0.7), (0.9, 0.5, 0.1)
SPELLINGS = {
    "plain functions": lenet_plain.train,
    "PyTorch's": lenet_torchlike.train,
    "MindSpore's": partial(lenet_mindspore.train, lenet_mindspore.ms.GRAPH_MODE),
}


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    data = digits()
    start = time.perf_counter()
    weights, curve = lenet_plain.train(data, shown=partial(progress, label="LeNet-5"))
    print(f"{len(curve)} steps of {BATCH} digits in {time.perf_counter() - start:.1f} s")
    found = accuracy(lenet_plain.network(weights, data.unseen_images), data.unseen_labels)
    print(f"accuracy on {len(data.unseen_labels)} digits that it has not seen: {found:.4f}")

    first = {name: train(data, np.float64, steps)[1] for name, train in SPELLINGS.items()}
    plain = first["plain functions"]
    off = {name: np.max(np.abs(np.subtract(losses, plain))) for name, losses in first.items()}
    for name, losses in first.items():
        print(f"{name:16} loss {losses[0]:.4f}, {losses[-1]:.4f} after {steps} steps; off by {off[name]:.1e}")

    epoch = TRAINING // BATCH
    smooth = np.convolve(curve, np.ones(epoch) / epoch, "valid")
    at = np.arange(len(smooth)) + epoch / 2
    save(
        "lenet_spellings.png",
        drawn([(COLOURS[1], np.arange(len(curve)), np.array(curve)), (COLOURS[0], at, smooth)]),
        2,
    )
    return 0 if found >= 0.97 and max(off.values()) < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
