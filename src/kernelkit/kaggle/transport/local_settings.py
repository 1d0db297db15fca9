"""What in this machine's settings made a request fail: proxy, certificates, name, TLS.

requests and OpenSSL say it only in their messages.
"""

import re
import socket
from urllib.request import getproxies

from requests.utils import prepend_scheme_if_needed
from urllib3.util import parse_url

# A host that no name server knows; a resolver that cannot be asked now has another number.
NO_HOST = {getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA")} | {11001}
_RESOLVED = re.compile(r"Failed to resolve \\*['\"]([^'\"\\]+).*?\[Errno (-?\d+)\]")
MALFORMED_PROXY = "the proxy's address is malformed"
# What this machine's settings cause, as requests and OpenSSL say it, and in words.
_SETTINGS = (
    (
        re.compile(r"certificate verify failed: (.+?)\.? \(_ssl"),
        "the server's certificate is not accepted: {}",
    ),
    (
        re.compile("407 Proxy|Tunnel connection failed: 407"),
        "the proxy requires a user name and password",
    ),
    (
        re.compile(r"Tunnel connection failed: (4\d\d [\w -]*)"),
        "the proxy refuses the connection: {}",
    ),
    (re.compile("WRONG_VERSION_NUMBER"), "the server, or the proxy before it, speaks no HTTPS"),
    (
        re.compile(
            r"\[SSL: (\w*(?:PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|HANDSHAKE_FAILURE|"
            r"CERTIFICATE_REQUIRED))\]"
        ),
        "the server, or the proxy before it, accepts no TLS connection of this machine: {}",
    ),
    (re.compile(r"\[X509: (\w+)"), "the file of certificates cannot be read: {}"),
    (
        re.compile("suitable TLS CA certificate bundle, invalid path: ([^'\"]*)"),
        "there is no file of certificates at {}",
    ),
    (re.compile("^InvalidProxyURL"), MALFORMED_PROXY),
    (re.compile("for SOCKS support"), "a SOCKS proxy needs a package: pip install pysocks"),
)
PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")  # the schemes of addresses


def cause(said: str) -> str:
    """What is wrong with this machine's settings, if an exception's text says so; else empty."""
    for pattern, words in _SETTINGS:
        found = pattern.search(said)
        if found:
            reasons = [reason.replace("\\", "") for reason in found.groups()]  # quotes in quotes
            return words.format(*reasons)
    unresolved = _RESOLVED.search(said)
    if unresolved and int(unresolved[2]) in NO_HOST:
        return f"no host is called {unresolved[1]}, or this machine is offline"
    return ""


def has_malformed_proxy() -> bool:
    """Whether a proxy in this machine's settings has an address that nothing can connect to."""
    proxies = getproxies()
    for scheme in ("https", "http", "all"):
        address = proxies.get(scheme)
        if not address:
            continue
        try:
            proxy = parse_url(prepend_scheme_if_needed(address, "http"))
            (proxy.host or "").encode("idna")
        except ValueError:
            return True
        if proxy.scheme not in PROXIES:
            return True
    return False
