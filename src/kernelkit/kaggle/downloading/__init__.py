"""What a kernel has attached, downloaded: each source as one archive, unpacked.

Begin with `downloads.download`. `sources` asks Kaggle which files a source has, and `archives`
unpacks them. May import `exchange`, `kaggle` and the ground floor.
"""
