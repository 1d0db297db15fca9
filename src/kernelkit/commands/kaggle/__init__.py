"""Commands that push to Kaggle and download results; begin with `push`."""
