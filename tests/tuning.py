"""Fine-tuning as the cells of 02_train do it, for tests."""

from petals.augment.layer import augmenting
from petals.evaluation.prediction import predict
from petals.training.callbacks import Epochs, Training, naming_causes
from petals.training.optimization import compile_model


def fine_tune(
    classifier,
    batches,
    splits,
    labels,
    rates,
    phase,
    training=None,
    *,
    augment=None,
    **compiling,
):
    """Train what is trainable of a classifier; returns its `Epochs`.

    `splits`: train and val; `labels`: of val; `batches`, `rates`, `phase`: as in the notebook.
    """
    model, training = classifier.model, training or Training()
    trained = model if augment is None else augmenting(model, augment)
    compile_model(trained, rates, **compiling)
    watch = Epochs(phase, training, labels, lambda: predict(model, splits[1], phase.batch_size))
    watch.resume(trained)
    with naming_causes(splits[0], classifier.head.units):
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
