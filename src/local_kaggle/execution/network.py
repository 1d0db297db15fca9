"""How this machine reaches the internet, for the sessions that may reach it.

Behind a company's proxy, or one that signs with a certificate of its own, no address answers a
session that does not know of it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
"""Variables that lead to a file of public certificates. A folder of them may hold keys, too."""
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")  # in capitals, too


def of_this_machine() -> dict[str, str]:
    """The variables of this process that lead to certificates and proxies.

    Left out are certificates that are not there, and proxies whose address may hold a password,
    which a session's code could read.
    """
    found = {}
    for name, value in os.environ.items():
        is_proxy = name.lower() in PROXIES and "@" not in value
        if is_proxy:
            found[name] = value
        elif name in CERTIFICATES and Path(value).is_file():
            found[name] = str(Path(value).absolute())
    return found


def certificates(variables: Mapping[str, str]) -> dict[str, Path]:
    """By the path inside walls: the file of certificates that each variable leads to."""
    paths = [Path(variables[name]) for name in CERTIFICATES if name in variables]
    return {str(path): path.resolve() for path in paths}
