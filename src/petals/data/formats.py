"""What kind of picture a file or a record holds, by its first bytes."""

_BEGINNINGS = {
    b"\xff\xd8": "a JPEG",
    b"\x89PNG": "a PNG",
    b"GIF8": "a GIF",
    b"BM": "a BMP",
    b"II*\0": "a TIFF",
    b"MM\0*": "a TIFF with big-endian numbers",
    b"\0\0\0\x0cjP": "a JPEG 2000",
    b"\xff\x0a": "a JPEG XL",
    b"\0\0\0\x0cJXL": "a JPEG XL",
    b"8BPS": "a Photoshop file",
    b"%PDF": "a PDF",
    b"version https://git-lfs": "a Git LFS pointer, in the place of the file",
    b"<": "a page of HTML or XML",
    b"\x1f\x8b": "compressed with gzip",
    b"PK\x03\x04": "a zip archive",
}
# Of files that begin as MP4 does, by their brand; one of any other brand is a video.
_BRANDS = {
    "an AVIF": (b"avif", b"avis"),
    "a HEIC": (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"),
}
_VIDEO = "a video"
# Where a PNG says how many bits a value has, and whether it has transparency (PNG, section 11.2.1).
_PNG_BITS, _PNG_COLOUR = 24, 25
_WITH_TRANSPARENCY = (4, 6)


def format_of(data: bytes) -> str:
    """What kind of file begins with these bytes, such as `a WebP`; "" if not known."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "a WebP"
    if data[4:8] == b"ftyp":
        brand = data[8:12]
        return next((name for name, brands in _BRANDS.items() if brand in brands), _VIDEO)
    return next((name for begin, name in _BEGINNINGS.items() if data.startswith(begin)), "")


def why_not_read(image: bytes) -> str:
    """Why the image of a record cannot be read as it is meant to be seen; "" if it can.

    TensorFlow decodes JPEGs and PNGs. Of a PNG it would drop the lower half of 16 bits, and
    transparency.
    """
    kind = format_of(image)
    if kind == "a JPEG":
        return ""
    if kind != "a PNG":
        what = kind or "of no known format, such as raw pixels"
        return f"its image is {what}: write the records again with JPEGs"
    header = image[: _PNG_COLOUR + 1]
    is_whole = len(header) == _PNG_COLOUR + 1
    if is_whole and (header[_PNG_BITS] > 8 or header[_PNG_COLOUR] in _WITH_TRANSPARENCY):
        return (
            "its image is a PNG with 16 bits a value or with transparency: write the records again "
            "with JPEGs"
        )
    return ""
