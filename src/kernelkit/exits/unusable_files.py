"""System errors that are about a file of the user's, and what helps."""

import errno

from kernelkit.terminal import safe_text

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
UNWRITABLE = NO_SPACE | {
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
    errno.EILSEQ,
    errno.ELOOP,
}


def unusable(error: OSError) -> str:
    """What a system error means, with the file and what to do, in one line.

    Except for a full disk it is not known whether the file was to be read or written.
    """
    name = safe_text.one_line(str(error.filename or "a file")[:200])
    reason = error.strerror or error
    if error.errno in NO_SPACE:
        return f"cannot write {name} ({reason}): free some space"
    return f"cannot use {name} ({reason}): correct its path or permissions"
