"""Conan 2 recipe of the headers, from these sources: conan create packaging/conan --settings compiler.cppstd=20"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Mbirk(ConanFile):
    name = "mbirk"
    description = "Kernels of model-based iterative reconstruction for tomography"
    topics = "tomography", "reconstruction", "CUDA", "header-only"
    license = "BSD-3-Clause"
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    required_conan_version = ">=2.0"

    @property
    def project_folder(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        found = re.search(r"project\(mbirk VERSION ([0-9.]+)",
                          load(self, os.path.join(self.project_folder, "CMakeLists.txt")))
        self.version = found[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "NOTICE", "cmake/*", "include/*"):
            copy(self, pattern, self.project_folder, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("CUDA", "BUILD_PROGRAM", "BUILD_TESTS", "BUILD_BENCH", "BUILD_EXAMPLES"):
            toolchain.cache_variables[f"MBIRK_{part}"] = "OFF"
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install(component="dev")
        for file in ("LICENSE", "NOTICE"):
            copy(self, file, self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # find_package takes the package that the headers are installed with everywhere, for its component cuda.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake"]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
