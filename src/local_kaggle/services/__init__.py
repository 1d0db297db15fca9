"""Kaggle's services, one module each, over one `ServerState`; `app` routes requests to them."""
