#!/usr/bin/env python3
"""How long a jitted projector of mbirk.jax takes beside the direct call: forward and back projection in parallel and
cone beam, the two in turn.

    python3 bench/jax_calls.py [--size 128] [--rounds 21]

Needs the Python module and JAX. A time is that of one call until its result is there. Prints the medians, and the
median over the rounds of jitted / direct with its quartiles."""
import argparse
import statistics
import time

import jax
import numpy as np

import mbirk
import mbirk.jax


def models(n):
    angles = np.linspace(0, np.pi, n, endpoint=False, dtype=np.float32)
    yield "parallel", mbirk.ParallelBeamModel((n, n, n), angles)
    yield "cone", mbirk.ConeBeamModel((n, n, n), 2 * angles, 4.0 * n, 2.0 * n)


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    print(f"mbirk {mbirk.__version__}, {mbirk.instruction_set()}, JAX {jax.__version__}, {options.size}^3")
    print("| beam | operation | direct, ms | jitted, ms | jitted / direct, quartiles |\n|---|---|---|---|---|")
    for beam, model in models(options.size):
        random = np.random.default_rng(1)
        for name, shape in (("forward_project", model.recon_shape), ("back_project", model.sinogram_shape)):
            x = random.random(tuple(shape), dtype=np.float32)
            on_device = jax.device_put(x)
            jitted = jax.jit(lambda a, f=getattr(mbirk.jax, name), m=model: f(m, a))
            calls = (lambda: getattr(model, name)(x), lambda: jitted(on_device).block_until_ready())
            for call in calls:
                call()
            times = [[seconds(call) for call in calls] for _ in range(options.rounds)]
            low, middle, high = statistics.quantiles((b / a for a, b in times), n=4)
            direct, compiled = (1e3 * statistics.median(column) for column in zip(*times))
            print(f"| {beam} | {name} | {direct:.2f} | {compiled:.2f} | {middle:.3f}, {low:.3f} to {high:.3f} |")


if __name__ == "__main__":
    main()
