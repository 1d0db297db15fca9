"""The modules that a command passes through, which a reader has to open to follow it."""

import sys
import threading

from checkouts import ROOT

SRC = ROOT / "src"


class Arrived(BaseException):
    """Raised at the end of a way: nothing after it runs, and no cleaning up is counted."""

    def __init__(self):
        sys.setprofile(None)


class Way:
    """The modules of a package whose functions are called within a `with` block.

    `modules` has their paths below the package in the order in which they are entered, such as
    "push/send". Code that runs only while a module is imported does not count. Of other threads
    those of a pool are followed.
    """

    def __init__(self, package):
        self.modules = []
        self._folder = f"{SRC / package}/"

        self._seen = set()

    def assert_short(self, *through, modules, rooms):
        """Assert that it leads through these modules, and through no more than so many.

        Rooms are the folders that they lie in; the modules of the ground floor lie in none.
        """
        passed = {module.split("/")[0] for module in self.modules if "/" in module}
        assert {*through} <= {*self.modules}
        assert len(self.modules) <= modules, " ".join(self.modules)
        assert len(passed) <= rooms, " ".join(sorted(passed))

    def __enter__(self):
        self._before = sys.getprofile()
        threading.setprofile(self._called_in_thread)
        sys.setprofile(self._called)
        return self

    def __exit__(self, kind, *_):
        sys.setprofile(self._before)
        threading.setprofile(None)
        return kind is Arrived

    def _called_in_thread(self, frame, event, argument):
        if "ThreadPool" in threading.current_thread().name:
            self._called(frame, event, argument)
        else:
            sys.setprofile(None)

    def _called(self, frame, event, argument):
        code = frame.f_code
        own = code.co_filename.startswith(self._folder) and code.co_filename.endswith(".py")
        if event != "call" or code in self._seen or not own:  # a page's template is no module
            return
        module = code.co_filename.removeprefix(self._folder).removesuffix(".py")
        if self._is_importing(frame):
            return
        self._seen.add(code)
        if module not in self.modules:
            self.modules.append(module)

    def _is_importing(self, frame):
        while frame is not None:
            code = frame.f_code
            if code.co_name == "<module>" and code.co_filename.startswith(self._folder):
                return True
            frame = frame.f_back
        return False
