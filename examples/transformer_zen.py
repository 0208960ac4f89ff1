"""A transformer block that learns the Zen of Python, which ships with Python, character by character.

One block of causal attention with two heads and a layer of 128 units, both after layer norms, in float32. It reads 48
characters and predicts the next character after each of them; Adam trains it. The picture shows the probability of each
character (down) after each character of a line (to the right).

    python examples/transformer_zen.py [steps, by default 400]
"""

import codecs
import contextlib
import io
import sys

import numpy as np
from pictures.png import save
from pictures.progress import progress

import mlirad
from mlirad import nn

with contextlib.redirect_stdout(io.StringIO()):  # it prints itself
    import this

TEXT = codecs.decode(this.s, "rot13")
LETTERS = sorted(set(TEXT))
CODES = np.array([LETTERS.index(letter) for letter in TEXT])
CONTEXT, WIDTH, HEADS, BATCH, RATE = 48, 32, 2, 16, 5e-3


def heads(x):
    """(batch, length, WIDTH) to (batch, HEADS, length, WIDTH / HEADS)."""
    return x.reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)


def attended(p, x):
    """What each character takes from those before it and itself."""
    y = nn.attention(heads(x @ p["query"]), heads(x @ p["key"]), heads(x @ p["value"]), is_causal=True)
    return y.transpose(0, 2, 1, 3).reshape(x.shape) @ p["out"]


def network(p, codes):
    """Codes (batch, length) to logits (batch, length, letters)."""
    x = p["letters"][codes] + p["places"][: codes.shape[1]]
    x = x + attended(p, nn.layer_norm(x, p["norm1"]))
    x = x + nn.gelu(nn.layer_norm(x, p["norm2"]) @ p["up"], "tanh") @ p["down"]
    return nn.layer_norm(x, p["norm3"]) @ p["unembed"]


def loss(p, codes, following):
    return nn.cross_entropy(network(p, codes), following)


def initial_parameters(rng):
    letters = len(LETTERS)
    shapes = {"letters": (letters, WIDTH), "places": (CONTEXT, WIDTH), "up": (WIDTH, 128), "down": (128, WIDTH)}
    shapes |= dict.fromkeys(("query", "key", "value", "out"), (WIDTH, WIDTH)) | {"unembed": (WIDTH, letters)}
    p = {name: (rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32) for name, shape in shapes.items()}
    return p | {f"norm{i}": np.ones(WIDTH, np.float32) for i in (1, 2, 3)}


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rng = np.random.default_rng(0)
    p = initial_parameters(rng)
    first, second = ({name: np.zeros_like(x) for name, x in p.items()} for _ in range(2))
    value_and_grad, logits = mlirad.value_and_grad(loss), mlirad.jit(network)
    losses = []
    for step in progress(range(1, steps + 1), "the Zen of Python"):
        starts = rng.integers(0, len(CODES) - CONTEXT, BATCH)
        windows = CODES[starts[:, None] + np.arange(CONTEXT + 1)]
        value, gradient = value_and_grad(p, windows[:, :-1], windows[:, 1:])
        losses.append(float(value))
        for name, g in gradient.items():
            first[name] += 0.1 * (g - first[name])
            second[name] += 0.01 * (g * g - second[name])
            p[name] -= RATE * (first[name] / (1 - 0.9**step)) / (np.sqrt(second[name] / (1 - 0.99**step)) + 1e-8)
    print(f"loss of a character {losses[0]:.3f} at the beginning, {losses[-1]:.3f} after {steps} steps")

    written = list(CODES[:CONTEXT])
    for _ in range(100):
        written.append(int(np.argmax(logits(p, np.array([written[-CONTEXT:]]))[0, -1])))
    print("it goes on:", "".join(LETTERS[each] for each in written[CONTEXT:]).replace("\n", " / "))

    # The picture: the probability of each letter after each character of a line.
    line = CODES[None, 60 : 60 + CONTEXT]
    save("transformer_zen.png", 1 - nn.softmax(logits(p, line))[0].T, scale=10)

    # Self-check: later characters change nothing before them; the gradient against differences in double precision.
    other = line.copy()
    other[0, 30:] = 0
    looks_ahead = np.max(np.abs(logits(p, line)[0, :30] - logits(p, other)[0, :30]))
    exact = {name: x.astype(float) for name, x in p.items()}
    way = {name: rng.normal(size=x.shape) for name, x in p.items()}
    codes, following = line, CODES[None, 61 : 61 + CONTEXT]
    values = [loss({name: x + h * way[name] for name, x in exact.items()}, codes, following) for h in (1e-5, -1e-5)]
    slope = (values[0] - values[1]) / 2e-5
    gradient = value_and_grad(p, codes, following)[1]
    along = sum(np.sum(gradient[name] * way[name]) for name in p)
    print(f"gradient against differences: {along:.4f} and {slope:.4f}; looking ahead changes {looks_ahead:.0e}")
    has_learnt = losses[-1] < (0.5 if steps >= 400 else losses[0])
    return 0 if has_learnt and abs(along - slope) < 1e-3 * (1 + abs(slope)) and looks_ahead < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
