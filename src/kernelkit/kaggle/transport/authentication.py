"""Sign in with the credentials of the environment, as the `kaggle` package does it.

Importing `kaggle` authenticates, prints help if it cannot, and may use the network; it is imported
only here, when first needed.
"""

import contextlib
import io
import json
import sys
from typing import Any

from requests.exceptions import HTTPError

from kernelkit.errors import CredentialsError, KernelkitError
from kernelkit.exits.signals import EndedBySignal
from kernelkit.kaggle.transport.classify import (
    INVALID_CHARACTER,
    is_of_invalid_character,
    of_exception,
    of_response,
)
from kernelkit.kaggle.transport.connection import CALL_ERRORS, Connection
from kernelkit.kaggle.transport.failures import FailureKind
from kernelkit.kaggle.transport.time_limits import Timeouts, within

CREDENTIALS = "checking the credentials"  # in place of a method of the API
UNREADABLE = (
    "the Kaggle credentials cannot be read, since a file is damaged: remove kaggle.json, "
    "credentials.json or access_token from ~/.kaggle, or from where KAGGLE_CONFIG_DIR leads, or "
    "make it anew"
)
NO_CREDENTIALS = (
    "no Kaggle credentials, or Kaggle does not accept them: sign in with `kaggle auth login`, or "
    "make a token at https://www.kaggle.com/settings/api and put it in ~/.kaggle/access_token or "
    "in KAGGLE_API_TOKEN. `kernelkit rehearse` needs no account"
)


def open_connection(timeouts: Timeouts | None = None) -> Connection:
    """Kaggle's own client, authenticated with the credentials of the environment.

    Raises `CredentialsError` without credentials that Kaggle accepts, and `NetworkError` if they
    cannot be checked.
    """
    timeouts = timeouts or Timeouts()
    api = _authenticated(timeouts)
    username = str(api.config_values.get(api.CONFIG_NAME_USER) or "")
    signed_in = str(api.config_values.get(api.CONFIG_NAME_AUTH_METHOD)).endswith("OAUTH")
    return Connection(api.build_kaggle_client(), username, timeouts, signed_in=signed_in)


def _authenticated(timeouts: Timeouts) -> Any:
    """The client's `KaggleApi`; raises `Failure` or `CredentialsError`."""
    stdin, stdout = sys.stdin, sys.stdout
    try:
        # The client checks a token without a time limit, so it gets one from outside.
        return within(timeouts.authenticate, _authenticate)
    except EndedBySignal:  # in this thread, while it waits for the client
        raise
    except SystemExit:  # of the client, which finds no credentials
        raise CredentialsError(NO_CREDENTIALS) from None
    except CALL_ERRORS as error:
        raise _of_authentication(error) from None
    finally:
        sys.stdin = stdin
        sys.stdout = stdout  # a thread that still hangs in the client has replaced both


def _of_authentication(error: Exception) -> KernelkitError:
    """The error for an exception that the client raised while it checked the credentials.

    Its text has nothing of the server's: that may repeat the token, which is no known secret yet.
    """
    if is_of_invalid_character(error):
        return CredentialsError(INVALID_CHARACTER)
    if isinstance(error, json.JSONDecodeError):
        return of_exception(CREDENTIALS, error)
    if not isinstance(error, OSError):  # neither of a request nor of opening a file
        return CredentialsError(UNREADABLE)
    if error.filename:  # one of the client's own files cannot be opened
        words = f"the credentials in {error.filename} cannot be used ({error.strerror})"
        return CredentialsError(f"{words}: correct the file's owner or mode")
    if not isinstance(error, HTTPError):
        return of_exception(CREDENTIALS, error)
    failure = None if error.response is None else of_response(CREDENTIALS, error.response)
    if failure is None or failure.kind in (FailureKind.CREDENTIALS, FailureKind.REFUSED):
        return CredentialsError(NO_CREDENTIALS)
    return failure


def _authenticate() -> Any:
    """The client's `KaggleApi`, authenticated.

    The first import of `kaggle` authenticates it. After that it is authenticated anew, since the
    environment may have other credentials by then. Raises whatever the client raises, and
    `TypeError` for credentials that are no text.
    """
    is_first = "kaggle" not in sys.modules
    # Without credentials the client calls exit(), which closes stdin: not the command's own.
    sys.stdin = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()):
        import kaggle
        from kaggle.api.kaggle_api_extended import KaggleApi

        api = kaggle.api
        if not (is_first and api._authenticated):
            api = KaggleApi()
            api.authenticate()
    for name in (api.CONFIG_NAME_USER, api.CONFIG_NAME_KEY, api.CONFIG_NAME_TOKEN):
        if not isinstance(api.config_values.get(name), str | None):
            raise TypeError(f"{name} is no text")
    return api
