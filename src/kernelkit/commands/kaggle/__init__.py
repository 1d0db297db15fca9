"""Commands that push to Kaggle and bring results home; begin with `push`."""
