"""A figure of photos that occur twice."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from petals.data.duplicates import Fingerprints, Pair
from petals.data.samples import sample_of
from petals.data.shards import Split
from petals.plots.figures import BAD, INK
from petals.plots.photos import gallery

MOST_TWINS = 9


def twins(
    prints: Fingerprints,
    pairs: Sequence[Pair],
    splits: Mapping[str, Split],
    names: Sequence[str],
) -> Figure:
    """The first pairs, side by side, with split and label; red where the labels differ."""
    images, captions, colours = [], [], []
    for pair in pairs[:MOST_TWINS]:
        for i in (pair.first, pair.second):
            split = str(prints.splits[i])
            label = prints.labels[i]
            images.append(sample_of(splits[split], [int(prints.positions[i])]).images[0])
            name = names[label] if label >= 0 else "no label"
            captions.append(f"{split}\n{name}")
            colours.append(BAD if pair.disagree else INK)
    caption = "Twins, side by side, with their splits and classes; red where the classes differ."
    return gallery(np.array(images), captions, colours, caption)
