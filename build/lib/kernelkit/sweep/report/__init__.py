"""What a sweep shows while it runs and afterwards: preview, progress, page."""
