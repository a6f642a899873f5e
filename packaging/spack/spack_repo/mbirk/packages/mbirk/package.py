from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Mbirk(CMakePackage):
    """Kernels of model-based iterative reconstruction for tomography: headers, and the program that reconstructs and
    profiles.

    Built from a copy of the sources:
    spack repo add packaging/spack/spack_repo/mbirk && spack dev-build --source-path . mbirk@0.1.0
    """

    license("BSD-3-Clause")

    version("0.1.0")

    variant("program", default=False, description="Build the program")
    variant("cuda", default=False, when="+program", description="Let the program run on CUDA devices")

    depends_on("cxx", type="build")
    depends_on("c", type="build", when="+program")
    depends_on("cmake@3.24:", type="build")
    with when("+program"):
        depends_on("cli11")
        depends_on("fmt")
        depends_on("hdf5 ~mpi")
        depends_on("libpng")
        depends_on("nlohmann-json")
        depends_on("xz")
        depends_on("zlib-api")
    depends_on("cuda@13:", when="+cuda")

    conflicts("%gcc@:11", msg="mbirk needs a C++20 compiler: g++ 12 or clang 19")

    def cmake_args(self):
        return [
            self.define_from_variant("MBIRK_BUILD_PROGRAM", "program"),
            self.define("MBIRK_CUDA", "+cuda" in self.spec),
            self.define("MBIRK_BUILD_TESTS", False),
            self.define("MBIRK_BUILD_BENCH", False),
            self.define("MBIRK_BUILD_EXAMPLES", False),
            self.define("MBIRK_NATIVE", False),  # Spack's compiler wrapper says for which processor
            self.define("MBIRK_DISPATCH", False),
        ]
