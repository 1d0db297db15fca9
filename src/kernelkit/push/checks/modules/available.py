"""What a session has: as the last one on its machine reported it, or else by the public lists."""

from collections.abc import Collection, Set
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from kernelkit import image
from kernelkit.machines import Kind
from kernelkit.push.known.session_images import modules_seen
from kernelkit.push.planned.plan import Plan


@dataclass(frozen=True)
class Available:
    """The modules and distributions of a session; `seen` is None if none has reported its own."""

    kind: Kind
    seen: Collection[str] | None

    @classmethod
    def of(cls, plan: Plan) -> "Available":
        """Those of a plan's session."""
        return cls(plan.kind, modules_seen(plan.project.runs, plan.kind))

    def has(self, module: str) -> bool | None:
        """Whether the session has a module; None if that is not known."""
        if self.seen is not None and module not in image.KAGGLES_OWN:
            return module in self.seen
        return image.holds(module, self.kind)

    def lacks(self, packages: Set[str]) -> Set[str]:
        """Those of these distributions that the session does not have, as far as is known."""
        if self.seen is None:
            return packages - image.distributions(self.kind)
        held = {canonicalize_name(image.distribution(each) or each) for each in self.seen}
        return packages - held
