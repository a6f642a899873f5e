"""The packages that compare_peers.py times, one class each with the same interface. A class imports its package only
when it is made.

A problem (compare_peers.Problem) has the scan (geometry, cone, n, shape, angles, pitch, near, far), recon, sinogram,
sigma_y and sigma_x."""
import collections, functools, os, tempfile

from compare_mbirjax import Failure

CORES = len(os.sched_getaffinity(0))
ITERATIONS = 15  # number of iterations of the reconstructions whose results are compared
# model: the peer's computation, for the table; call() is timed; result() in mbirk's order of axes; fit: compare after
# one fitted scale; less, parts: the reported time is (time of call() - time of less()) / parts.
Method = collections.namedtuple("Method", "operation model cores call result fit less parts", defaults=(False, None, 1))


class Peer:
    """Constructed for a problem; methods() lists the operations it offers, and how each is computed."""

    def close(self):
        pass


class Astra(Peer):
    """The ASTRA toolbox. Its CPU algorithms are 2D, so one call processes the slices in turn, on one core."""
    title, module, requirements = "ASTRA", "astra", ("astra-toolbox==2.5.0",)

    def __init__(self, problem):
        import astra, numpy as np
        self.astra, self.problem = astra, problem
        self.detector = astra.create_proj_geom("parallel", 1.0, problem.n, problem.angles)
        self.plane = astra.create_vol_geom(problem.n, problem.n)
        self.recon, self.sinogram = (np.ascontiguousarray(problem.recon.transpose(2, 0, 1)),
                                     np.ascontiguousarray(problem.sinogram.transpose(1, 0, 2)))

    def slices(self, kind, projector):
        """(a function that runs the algorithm on all slices, the array that it fills)"""
        import numpy as np
        astra, forward = self.astra, kind == "FP"
        recon, sinogram = ((self.recon, np.zeros_like(self.sinogram)) if forward
                           else (np.zeros_like(self.recon), self.sinogram))
        algorithms = []
        for plane, views in zip(recon, sinogram):
            settings = astra.astra_dict(kind) | {
                "ProjectorId": astra.create_projector(projector, self.detector, self.plane),
                "VolumeDataId" if forward else "ReconstructionDataId": astra.data2d.link("-vol", self.plane, plane),
                "ProjectionDataId": astra.data2d.link("-sino", self.detector, views)}
            algorithms.append(astra.algorithm.create(settings | ({"FilterType": "ram-lak"} if kind == "FBP" else {})))
        return lambda: [astra.algorithm.run(a) for a in algorithms], sinogram if forward else recon

    def methods(self):
        if self.problem.cone:                                                           # cone beam runs on GPUs only
            return
        for projector in ("linear", "strip"):
            for name, kind in ("forward_project", "FP"), ("back_project", "BP"), ("fbp_recon", "FBP"):
                call, filled = self.slices(kind, projector)
                axes = (1, 0, 2) if kind == "FP" else (1, 2, 0)
                yield Method(f"parallel_{name}", f"2D slices, {projector}", 1, call,
                             lambda c=call, f=filled, a=axes: (c(), f.transpose(a))[1])

    def close(self):
        self.astra.clear()


class Rtk(Peer):
    """RTK (ITK's filters), parallel beam as a source at infinity. The axis of rotation is y, so a volume is (rows,
    slices, cols) to NumPy."""
    title, module, requirements = "RTK", "itk", ("itk-rtk==2.7.0.post1", "numpy")

    def __init__(self, problem):
        import itk, numpy as np
        from itk import RTK
        self.itk, self.rtk, self.image = itk, RTK, itk.Image[itk.F, 3]
        self.problem, n = problem, problem.n
        self.grids = {"recon": ((n, n, n), problem.pitch), "sinogram": (problem.shape[::-1], 1.0)}      # size, spacing
        self.geometry = RTK.ThreeDCircularProjectionGeometry.New()
        for angle in np.degrees(problem.angles.astype(np.float64)):
            self.geometry.AddProjection(problem.near, problem.far if problem.cone else 0.0, float(angle))
        self.arrays = {"recon": np.ascontiguousarray(problem.recon.transpose(0, 2, 1)), "sinogram": problem.sinogram}
        self.inputs = {name: self.placed(itk.image_from_array(array), name) for name, array in self.arrays.items()}

    def placed(self, image, name):
        size, spacing = self.grids[name]
        image.SetSpacing([spacing] * 3)
        image.SetOrigin([-spacing * (k - 1) / 2 for k in size])
        return image

    def run(self, name, given, out, types=2):
        """Output of a new filter (a filter runs only once) on an image of zeros, which RTK's own programs use too."""
        zeros = self.placed(self.rtk.ConstantImageSource[self.image].New(), out)
        zeros.SetSize(list(self.grids[out][0]))
        zeros.SetConstant(0.0)
        made = (getattr(self.rtk, name)[(self.image,) * types].New() if types > 1
                else getattr(self.rtk, name)[self.image].New())
        made.SetInput(0, zeros.GetOutput())
        made.SetInput(1, self.inputs[given])
        made.SetGeometry(self.geometry)
        made.Update()
        return made.GetOutput()

    def methods(self):
        geometry, cone = self.problem.geometry, self.problem.cone
        for name, model, cores, kind, given, out, types, fit in (
                ("forward_project", "Joseph", CORES, "JosephForwardProjectionImageFilter", "recon", "sinogram", 2,
                 False),
                ("back_project", "Joseph", 1, "JosephBackProjectionImageFilter", "sinogram", "recon", 2, False),
                ("back_project", "voxel-driven", CORES, "BackProjectionImageFilter", "sinogram", "recon", 2, cone),
                ("fdk_recon" if cone else "fbp_recon", "FDK filter", CORES, "FDKConeBeamReconstructionFilter",
                 "sinogram", "recon", 1, False)):
            call = functools.partial(self.run, kind, given, out, types)
            axes = (0, 1, 2) if out == "sinogram" else (0, 2, 1)
            yield Method(f"{geometry}_{name}", model, cores, call,
                         lambda c=call, a=axes: self.itk.array_from_image(c()).transpose(a), fit)


class Svmbir(Peer):
    """svmbir: one whole call each, which reads the system matrix from the file that the first call wrote. Images are
    (slices, cols, rows)."""
    title, module, requirements = "svmbir", "svmbir", ("svmbir==0.5.0",)

    def __init__(self, problem):
        import svmbir, numpy as np
        self.problem, self.folder = problem, tempfile.TemporaryDirectory(prefix="mbirk-svmbir-")
        self.image = np.ascontiguousarray(problem.recon.transpose(2, 1, 0))
        common = {"svmbir_lib_path": self.folder.name, "verbose": 0, "num_threads": CORES}
        self.project = lambda: svmbir.project(self.image, problem.angles, problem.n, **common)
        sized = common | {"num_rows": problem.n, "num_cols": problem.n}
        self.back = lambda: svmbir.backproject(problem.sinogram, problem.angles, **sized)
        self.recon = lambda iterations: svmbir.recon(
            problem.sinogram, problem.angles, sigma_y=problem.sigma_y, sigma_x=problem.sigma_x, p=1.2, q=2.0, T=1.0,
            positivity=False, max_resolutions=0, stop_threshold=0.0, max_iterations=iterations, **sized)

    def methods(self):
        if self.problem.cone:  # only parallel and fan beam exist
            return
        once, result = functools.partial(self.recon, 1), lambda: self.recon(ITERATIONS).transpose(2, 1, 0)
        yield Method("parallel_forward_project", "stored matrix", CORES, self.project, self.project)
        yield Method("parallel_back_project", "stored matrix", CORES, self.back, lambda: self.back().transpose(2, 1, 0))
        yield Method("parallel_mbir_recon", "1 iteration from 0", CORES, once, result)
        yield Method("parallel_mbir_recon", "a further iteration", CORES, functools.partial(self.recon, 4), result,
                     less=once, parts=3)

    def close(self):
        self.folder.cleanup()


class Leap(Peer):
    """LEAP on the CPU: separable footprints. Volumes are (slices, rows from the last to the first, cols)."""
    title, module, requirements = "LEAP", "leapctype", ("imageio", "numpy")

    def __init__(self, problem):
        import leapctype, numpy as np
        self.problem, self.model, n = (
            problem, leapctype.tomographicModels(lib_dir=os.path.dirname(leapctype.__file__)), problem.n)
        if self.model.libprojectors is None:
            raise Failure(f"there is no libleapct.so beside leapctype.py")
        self.model.set_gpu(-1)
        degrees, middle = np.degrees(problem.angles), (n - 1) / 2
        detector = (*problem.shape, 1.0, 1.0, middle, middle, degrees)
        (self.model.set_conebeam(*detector, problem.near, problem.far) if problem.cone
         else self.model.set_parallelbeam(*detector))
        self.model.set_volume(n, n, n, problem.pitch, problem.pitch)
        self.model.set_rampFilter(12)                                                   # the unwindowed ramp
        self.recon, self.sinogram = np.ascontiguousarray(problem.recon[::-1].transpose(2, 0, 1)), problem.sinogram
        self.out = {"recon": np.zeros_like(self.recon), "sinogram": np.zeros_like(self.sinogram)}

    def methods(self):
        m, volume = self.model, lambda: self.out["recon"].transpose(1, 2, 0)[::-1]
        for name, model, call, result in (
                ("forward_project", "separable footprint", lambda: m.project(self.out["sinogram"], self.recon),
                 lambda: self.out["sinogram"]),
                ("back_project", "separable footprint", lambda: m.backproject(self.sinogram, self.out["recon"]),
                 volume),
                ("fdk_recon" if self.problem.cone else "fbp_recon", "ramp",
                 lambda: m.FBP(self.sinogram, self.out["recon"]), volume)):
            yield Method(f"{self.problem.geometry}_{name}", model, CORES, call, lambda c=call, r=result: (c(), r())[1])


PEERS = {"astra": Astra, "rtk": Rtk, "svmbir": Svmbir, "leap": Leap}
