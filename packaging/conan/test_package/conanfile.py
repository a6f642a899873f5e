import io
import os

from conan import ConanFile
from conan.errors import ConanException
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Consumer(ConanFile):
    settings = "os", "compiler", "build_type", "arch"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, src_folder="../../../tests/install/consumer")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing is written into the sources of the consumer
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            printed = io.StringIO()
            self.run(os.path.join(self.cpp.build.bindir, "consumer"), stdout=printed, env="conanrun")
            expected = str(self.dependencies["mbirk"].ref.version)
            if printed.getvalue().strip() != expected:
                raise ConanException(f"the consumer printed {printed.getvalue()!r}, expected the version {expected}")
