"""What setup.cfg cannot say: a wheel has the examples that `paddlectl local` trains, as launcher/examples."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EXAMPLES = ("examples/recommendation", "examples/stand_in")
PROGRAMS = ("", ".py")  # the stand-in's `paddle` has no suffix


class WithExamples(build_py):
    """Copies the examples beside the modules; an editable installation finds them in the checkout."""

    def run(self) -> None:
        """Build the modules, then the examples."""
        super().run()
        if self.editable_mode:
            return
        for path in (path for each in EXAMPLES for path in sorted(Path(each).iterdir())):
            if path.is_file() and path.suffix in PROGRAMS and not path.name.startswith("."):
                target = Path(self.build_lib, "launcher", path)
                self.mkpath(str(target.parent))
                self.copy_file(str(path), str(target))


setup(cmdclass={"build_py": WithExamples})
