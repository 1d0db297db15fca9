"""Fine-tuning as the cells of 02_train do it, for tests."""

from petals.augment.layer import augmenting
from petals.data.pipeline import Batches
from petals.evaluation.prediction import predict
from petals.training.callbacks import Epochs, Phase, Training, naming_causes
from petals.training.optimization import compile_model, learning_rates


def fine_tune(
    classifier,
    splits,
    epochs,
    training=None,
    *,
    batch_size=10,
    batches=None,
    rates=None,
    change=None,
    on_device=False,
    cache=None,
    **compiling,
):
    """Train what is trainable of a classifier; returns its `Epochs`.

    `splits`: train and val; `batches(step)`: the dataset from a step on, by default the split's
    own, with `change`; `rates`: of each step, along half a cosine by default.
    """
    train, val, *_ = splits
    model, training, classes = classifier.model, training or Training(), classifier.head.units
    phase = Phase("fine-tune", epochs, train.count // batch_size, batch_size)
    if rates is None:
        rates = learning_rates("cosine", epochs, phase.steps, learning_rate=3e-3)
    own = Batches(
        train,
        batch_size,
        classes,
        augment=change,
        on_device=on_device,
        seed=3,
        deterministic=True,
        cache=cache,
    )
    batches = batches or own.dataset
    trained = augmenting(model, change) if change and on_device else model
    compile_model(trained, rates, **compiling)
    labels, _ = val.labels_and_ids()
    watch = Epochs(phase, training, labels, lambda: predict(model, val, batch_size))
    watch.resume(trained)
    with naming_causes(train, classes):
        for step, last_epoch, steps in watch.stretches():
            trained.fit(
                batches(step),
                initial_epoch=step // phase.steps,
                epochs=last_epoch,
                steps_per_epoch=steps,
                shuffle=False,
                callbacks=[watch],
                verbose=0,
            )
    watch.finish(trained)
    return watch
