"""DINOv2 and DINOv3 in NumPy, written from the papers' formulas: what networks are compared with.

Weights are arrays by timm's names. Images are float (n, size, size, 3); tokens (n, tokens, width),
the class token first, then registers, then patches by rows.

Dosovitskiy et al., 2021 (ViT); Oquab et al., 2023 (DINOv2: layer scale, gated MLP); Darcet et al.,
2023 (registers); Siméoni et al., 2025, and Heo et al., 2024 (DINOv3: rotary positions along both
axes, of patch centres between -1 and 1, with a base of 100); Keys, 1981 (bicubic interpolation).
"""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x):
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def silu(x):
    return x / (1 + np.exp(-x))


def layer_norm(x, weights, name, epsilon):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * weights[f"{name}.weight"] + weights[
        f"{name}.bias"
    ]


def dense(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.0)


def patches(images, weights):
    """(n, patches, width): the projection of each patch, a sum over its pixels."""
    kernel = weights["patch_embed.proj.weight"]  # (width, 3, patch, patch)
    side = kernel.shape[-1]
    count, size = images.shape[0], images.shape[1]
    grid = size // side
    cut = images.reshape(count, grid, side, grid, side, 3)
    projected = np.einsum("nrycxk,wkyx->nrcw", cut, kernel)
    return projected.reshape(count, grid * grid, -1) + weights["patch_embed.proj.bias"]


def cubic(distance):
    """Keys's kernel with a = -0.5."""
    d = np.abs(distance)
    near = 1.5 * d**3 - 2.5 * d**2 + 1
    far = -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def resampling(before, after, antialias):
    """float (after, before): how much each value counts in each new one, along one axis."""
    scale = before / after
    stretch = max(scale, 1.0) if antialias else 1.0
    centres = (np.arange(after) + 0.5) * scale - 0.5
    rows = cubic((np.arange(before)[None] - centres[:, None]) / stretch)
    return rows / rows.sum(axis=1, keepdims=True)


def resized(table, grid, antialias):
    """Positions (patches, width) for `grid` patches a side."""
    own = math.isqrt(len(table))
    if own == grid:
        return table
    rows = resampling(own, grid, antialias)
    square = table.reshape(own, own, -1)
    return np.einsum("rR,cC,RCw->rcw", rows, rows, square).reshape(grid * grid, -1)


def rotary(grid, width, base=100.0):
    """Cosines and sines (patches, width) for one head: half of the angles of rows, then columns."""
    frequencies = base ** -(np.arange(width // 4) * 4 / width)
    centres = 2 * (np.arange(grid) + 0.5) / grid - 1
    row, column = np.meshgrid(centres, centres, indexing="ij")
    angles = np.concatenate(
        [2 * math.pi * axis.reshape(-1, 1) * frequencies for axis in (row, column)], axis=1
    )
    twice = np.concatenate([angles, angles], axis=1)
    return np.cos(twice), np.sin(twice)


def rotated(x, turn, before):
    """Queries or keys (n, heads, tokens, width) turned by their positions, from token `before`."""
    if turn is None:
        return x
    cosine, sine = turn
    half = x.shape[-1] // 2
    others, own = x[:, :, :before], x[:, :, before:]
    quarter = np.concatenate([-own[..., half:], own[..., :half]], axis=-1)
    return np.concatenate([others, own * cosine + quarter * sine], axis=2)


def attention(x, weights, place, heads, turn, before):
    count, tokens, width = x.shape
    joined = dense(x, weights, f"{place}.attn.qkv").reshape(count, tokens, 3, heads, width // heads)
    query, key, value = joined.transpose(2, 0, 3, 1, 4)
    query, key = (rotated(each, turn, before) for each in (query, key))
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed = (shares @ value).transpose(0, 2, 1, 3).reshape(count, tokens, width)
    return dense(mixed, weights, f"{place}.attn.proj")


def mlp(x, weights, place):
    hidden = dense(x, weights, f"{place}.mlp.fc1")
    if hidden.shape[-1] == 2 * weights[f"{place}.mlp.fc2.weight"].shape[1]:
        gate, linear = np.split(hidden, 2, axis=-1)
        hidden = silu(gate) * linear
    else:
        hidden = gelu(hidden)
    return dense(hidden, weights, f"{place}.mlp.fc2")


def tokens(images, weights, heads, *, epsilon=1e-6, antialias=False):
    """The tokens after the last layer norm: DINOv2's with "pos_embed", else DINOv3's."""
    weights = {name: np.asarray(array, np.float64) for name, array in weights.items()}
    x = patches(np.asarray(images, np.float64), weights)
    grid = math.isqrt(x.shape[1])
    count = len(x)
    first = np.broadcast_to(weights["cls_token"], (count, 1, x.shape[2]))
    registers = weights.get("reg_token", np.zeros((1, 0, x.shape[2])))
    registers = np.broadcast_to(registers, (count, *registers.shape[1:]))
    before, turn = 1 + registers.shape[1], None
    if "pos_embed" in weights:
        table = weights["pos_embed"][0]
        with_class = len(table) - math.isqrt(len(table)) ** 2 != 0
        if with_class:
            first = first + table[:1]
        x = x + resized(table[int(with_class) :], grid, antialias)
    else:
        turn = rotary(grid, x.shape[2] // heads)
    x = np.concatenate([first, registers, x], axis=1)
    number = 0
    while f"blocks.{number}.norm1.weight" in weights:
        place = f"blocks.{number}"
        for norm, scale in (("norm1", "ls1"), ("norm2", "ls2")):
            inner = layer_norm(x, weights, f"{place}.{norm}", epsilon)
            if norm == "norm1":
                inner = attention(inner, weights, place, heads, turn, before)
            else:
                inner = mlp(inner, weights, place)
            x = x + inner * weights.get(f"{place}.{scale}.gamma", 1.0)
        number += 1
    return layer_norm(x, weights, "norm", epsilon)


def features(images, weights, heads, **options):
    """float (n, 2 * width): the class token, then the mean of the patches."""
    result = tokens(images, weights, heads, **options)
    before = 1 + weights.get("reg_token", np.zeros((1, 0))).shape[1]
    return np.concatenate([result[:, 0], result[:, before:].mean(axis=1)], axis=1)


def made_up(
    width=32, patch=4, grid=6, depth=2, hidden=64, registers=0, gated=False, scale=True, seed=0
):
    """Random weights of a small network by timm's names, with `grid` patches a side."""
    rng = np.random.default_rng(seed)
    made = {
        "cls_token": rng.normal(size=(1, 1, width)),
        "pos_embed": rng.normal(size=(1, 1 + grid * grid, width)),
        "patch_embed.proj.weight": rng.normal(0, 0.1, (width, 3, patch, patch)),
        "patch_embed.proj.bias": rng.normal(size=width),
    }
    if registers:
        made["reg_token"] = rng.normal(size=(1, registers, width))
    shapes = {
        "attn.qkv": (3 * width, width),
        "attn.proj": (width, width),
        "mlp.fc1": ((2 if gated else 1) * hidden, width),
        "mlp.fc2": (width, hidden),
    }
    norms = ["norm"]
    for number in range(depth):
        place = f"blocks.{number}"
        for name, shape in shapes.items():
            made[f"{place}.{name}.weight"] = rng.normal(0, 0.2, shape)
            made[f"{place}.{name}.bias"] = rng.normal(0, 0.2, shape[0])
        norms += [f"{place}.norm1", f"{place}.norm2"]
        if scale:
            for which in (1, 2):
                made[f"{place}.ls{which}.gamma"] = rng.uniform(0.2, 1.5, width)
    for name in norms:
        made[f"{name}.weight"] = rng.uniform(0.5, 1.5, width)
        made[f"{name}.bias"] = rng.normal(0, 0.3, width)
    return {name: array.astype(np.float32) for name, array in made.items()}
