"""Tests bench/predict_gpu.py on planted code: a loop nest whose instructions and trip counts are known, run by hand.

Usage: predict_test.py <source folder>. Needs neither nvcc nor a disassembler.
Exit code: 0 when everything holds, 1 when not."""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "bench"))
import predict_gpu  # noqa: E402
from sass import disassembly, units  # noqa: E402

TOOL = ROOT / "bench" / "predict_gpu.py"

HEADER = """\
void run() {
  for (int view = 0; view < views; ++view) {
    switch (form) {
      case 2: add<2>(view); break;
      case 3: add<3>(view); break;
    }
    for (int tap = 0; tap < taps; ++tap) {
      sum += load(tap);
    }
  }
}
"""
BACKEND = """\
float load(float const* p) { return p[lane()]; }
float load_partial(float const* p, int n) { return lane() < n ? p[lane()] : 0; }
"""


def planted(folder):
    """A kernel with a loop over views, two cases in it, a loop over taps with a rare way, and a slow path."""
    kernel, backend = folder / "mbirk/kernel/device/planted.hpp", folder / "mbirk/simd/warp.hpp"
    for path, text in ((kernel, HEADER), (backend, BACKEND)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def at(line, inner=None):
        if inner is None:
            return f'\t//## File "{kernel}", line {line}\n'
        return (f'\t//## File "{backend}", line {inner} inlined at "{kernel}", line {line}\n'
                f'\t//## File "{kernel}", line {line}\n')

    lines, address = ['\t.section\t.text.planted,"ax",@progbits\n', "planted:\n"], 0
    for item in (
            at(2), "MOV R0, RZ", ".view:", "ISETP.NE.AND P0, PT, R1, 0x2, PT", "@P0 BRA `(.three)",
            at(4), "FFMA R2, R2, R3, R4", "FFMA R2, R2, R3, R4", "DADD R6, R6, R8", "BRA `(.taps)",
            ".three:", at(5), "FFMA R2, R2, R3, R4", "FFMA R2, R2, R3, R4", "FFMA R2, R2, R3, R4", "MUFU.RSQ R5, R2",
            ".taps:", at(7), "MOV R10, RZ", ".tap:", "ISETP.GE.AND P1, PT, R10, R11, PT", "@P1 BRA `(.part)",
            at(8, 1), "LDG.E R12, desc[UR4][R14.64]", "BRA `(.joined)",
            ".part:", at(8, 2), "ISETP.GE.AND P2, PT, R16, R17, PT", "@P2 BRA `(.joined)",
            "LDG.E R12, desc[UR4][R14.64]",
            ".joined:", at(8), "FADD R2, R2, R12", "@P3 BRA `(.slow)",
            ".fast:", "IADD3 R10, R10, 0x1, RZ", "@P4 BRA `(.tap)",
            at(2), "IADD3 R0, R0, 0x1, RZ", "@P5 BRA `(.view)",
            "STG.E desc[UR4][R18.64], R2", "EXIT",
            ".slow:", "CALL.REL.NOINC `($__internal_0_sqrt_slowpath)", "BRA `(.fast)",
            "$__internal_0_sqrt_slowpath:", "FMUL R2, R2, R2", "RET.REL.NODEC R20 `(planted)", "NOP", "NOP"):
        if item.endswith("\n"):
            lines.append(item)
        elif item.endswith(":"):
            lines.append(item.replace(".", ".L_x_", 1) + "\n" if item.startswith(".") else item + "\n")
        else:
            lines.append(f"        /*{address:04x}*/   {re.sub(r'`[(][.]', '`(.L_x_', item)} ;\n")
            address += 16
    return "".join(lines)


SPEC = {"header": "kernel/device/planted.hpp",
        "variant": {"unit": "two", "count": "FFMA", "each": 2, "packs": [1]},
        "units": [{"name": "view", "depth": 1}, {"name": "two", "depth": 1, "text": "add<2>(view"},
                  {"name": "three", "depth": 1, "text": "add<3>(view"}, {"name": "tap", "depth": 2}]}


class Planted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.text = planted(pathlib.Path(self.folder.name))
        self.function = disassembly.parse(self.text)["planted"]

    def units(self):
        sources = units.Sources(self.folder.name)
        return units.by_variant(self.function, SPEC, sources, re.compile("load_partial"))["1"]

    def test_loops(self):
        blocks = disassembly.blocks_of(self.function)
        loops = disassembly.find_loops(blocks)
        self.assertEqual(sorted(len(blocks[h].loops) for h in loops), [1, 2])
        self.assertEqual(self.function.instructions[-1].op, "RET.REL.NODEC")  # what pads the code is dropped

    def test_slow_paths_are_cold(self):
        blocks = disassembly.blocks_of(self.function)
        disassembly.find_loops(blocks)
        cold = {i.op for b in blocks if b.cold for i in b.instructions}
        self.assertIn("CALL.REL.NOINC", cold)
        self.assertIn("FMUL", cold)

    def test_mix(self):
        made = self.units()
        self.assertEqual(set(made), {"view", "two", "three", "tap"})
        self.assertEqual((made["two"]["FFMA"], made["two"]["fp64"], made["two"]["issue"]), (2, 1, 4))
        self.assertEqual((made["three"]["FFMA"], made["three"]["special"], made["three"]["issue"]), (3, 1, 4))
        # The partial load is the rare way; the sum, the test of the slow path and the loop's own code are not.
        self.assertEqual((made["tap"]["LDG"], made["tap"]["issue"]), (1, 8))
        self.assertEqual(made["view"]["issue"], 5)

    def test_one_of_two_copies_counts(self):
        """The compiler may copy a statement to use other registers in either way of a branch; a warp runs one copy."""
        def block(following, *code):
            made = [disassembly.Instruction(text, [("planted.hpp", line)]) for text, line in code]
            return types.SimpleNamespace(instructions=made, next=following, cold=False)

        for line, copied in ((4, True), (5, False)):
            blocks = [block([1, 2], ("@P0 BRA `(.L_x_1)", 3)), block([3], ("FFMA R2, R3, R4, R2", 4)),
                      block([3], ("FFMA R2, R3, R5, R2", line), ("BRA `(.L_x_2)", 3)), block([], ("EXIT", 6))]
            units.mark_copies(blocks)
            self.assertEqual([b.cold for b in blocks], [False, False, copied, False])

    def test_units_by_innermost_lines_and_decisions(self):
        """Code in front of the decision between two cases runs in both; that of a third case, or in front of a way that
        joins the other, does not."""
        header = "planted.hpp"
        around = units.Unit("around", 1)
        first, second, third = (units.Unit(name, 1, (header, line, line)) for name, line in
                                (("first", 4), ("second", 5), ("third", 6)))
        everything = [around, first, second, third]

        def block(following, *lines):
            made = [disassembly.Instruction("FFMA R2, R3, R4, R2", [(header, line) for line in chain])
                    for chain in lines]
            return types.SimpleNamespace(instructions=made, next=following, loops=[0], cold=False)

        def names(*blocks):
            return [unit.name for _, unit in sorted(units.units_of(blocks, everything).items())]

        self.assertEqual(names(block([], (4, 5), (4, 5)), block([], (5, 4))), ["first", "second"])  # inlined in 5, in 4
        first_way, second_way = block([3], (4,)), block([3], (5,))
        self.assertEqual(names(block([1, 2], (4,)), first_way, second_way, block([], (3,))),
                         ["around", "first", "second", "around"])
        self.assertEqual(names(block([1, 2], (6,)), first_way, second_way, block([], (3,)))[0], "third")
        self.assertEqual(names(block([1, 2], (4,)), block([2], (4,)), block([3], (5,)), block([], (3,)))[0], "first")
        self.assertEqual(names(block([], (4,), (5,), (3,), (3,))), ["around"])  # no majority

    def test_one_of_several_cases_of_a_statement_counts(self):
        spec = json.loads(json.dumps(SPEC))
        spec["units"][2]["copies"] = 3
        sources = units.Sources(self.folder.name)
        made = units.by_variant(self.function, spec, sources, re.compile("load_partial"))["1"]
        self.assertEqual(made["three"]["FFMA"], 1)
        self.assertEqual(made["two"], self.units()["two"])

    def test_a_text_that_begins_no_statement_is_an_error(self):
        sources = units.Sources(self.folder.name)
        with self.assertRaisesRegex(units.Mismatch, "not the beginning of a statement"):
            sources.extent("kernel/device/planted.hpp", "tap < taps; ++tap")

    def test_merged_cases_share_their_costs(self):
        """Units share the costs of one if the compiler gives the code of two statements the lines of one."""
        merged = {"two taps": {"LDG": 25, "issue": 50}}
        units.share_merged(merged, {"two taps": 2, "three taps": 3})
        self.assertEqual(merged, {"two taps": {"LDG": 10, "issue": 20}, "three taps": {"LDG": 15, "issue": 30}})
        for apart in ({"two taps": {"LDG": 10}, "three taps": {"LDG": 15}}, {"view": {"LDG": 4}}):
            before = {name: dict(cost) for name, cost in apart.items()}
            units.share_merged(apart, {"two taps": 2, "three taps": 3})
            self.assertEqual(apart, before)

    def test_counts_equal_a_run(self):
        """Units times their trips are the instructions that a run executes."""
        views, taps, of_two = 7, 4, 3
        blocks = disassembly.blocks_of(self.function)
        run, block, view, tap = collections.Counter(), 0, 0, 0
        while block is not None:
            for i in blocks[block].instructions:
                run["issue"] += 1
                run["LDG"] += i.op.startswith("LDG")
                run["FFMA"] += i.op.startswith("FFMA")
            last = blocks[block].instructions[-1]
            taken = {"P0": view >= of_two, "P1": False, "P3": False, "P4": tap + 1 < taps, "P5": view + 1 < views}.get(
                last.guard, True)
            if last.op == "EXIT":
                break
            if last.guard == "P4":
                tap = tap + 1 if taken else 0
            view += last.guard == "P5"
            jump = last.op == "BRA" and taken
            target = self.function.labels[last.target] if jump else None
            starts = [sum(len(b.instructions) for b in blocks[:k]) for k in range(len(blocks))]
            block = starts.index(target) if jump else block + 1
        made = self.units()
        trips = {"view": views, "two": of_two, "three": views - of_two, "tap": views * taps}
        # Outside of the loops: MOV before them, STG and EXIT after them.
        for number, outside in (("issue", 3), ("LDG", 0), ("FFMA", 0)):
            predicted = outside + sum(trips[u] * made[u].get(number, 0) for u in trips)
            self.assertEqual(predicted, run[number], number)

    def test_time_of_a_lone_warp(self):
        """A chain of dependent instructions takes the sum of their latencies; independent ones one clock each."""
        chain = [disassembly.Instruction("FADD R1, R1, R2", ()) for _ in range(10)]
        free = [disassembly.Instruction(f"FADD R{k}, R30, R31", ()) for k in range(10)]
        self.assertEqual(disassembly.lone_clocks(chain, 0, True), 40)
        self.assertEqual(disassembly.lone_clocks(free, 0, True), 10)
        pack = (("/include/mbirk/simd/warp.hpp", 1),)
        loads = [disassembly.Instruction(f"LDG.E R{k}, desc[UR4][R40.64]", pack) for k in range(4)]
        use = [disassembly.Instruction("FADD R9, R0, R3", ())]
        self.assertAlmostEqual(disassembly.costs(loads + use)["rounds"], 1, delta=0.05)
        dependent = [disassembly.Instruction("LDG.E R4, desc[UR4][R4.64]", pack) for _ in range(3)]
        self.assertAlmostEqual(disassembly.costs(dependent)["rounds"], 3, delta=0.05)

    def test_a_change_of_the_source_is_an_error(self):
        other = dict(SPEC, units=SPEC["units"] + [{"name": "gone", "depth": 2, "text": "no_such_text"}])
        with self.assertRaisesRegex(units.Mismatch, "planted.hpp: found 'no_such_text' 0 times, expected once"):
            units.by_variant(self.function, other, units.Sources(self.folder.name), re.compile("x"))


class Units(unittest.TestCase):
    def test_the_longest_name_counts(self):
        kernels = {"gather": 1, "gather<subtract": 2, "list_gather<subtract": 3}
        self.assertEqual(predict_gpu.spec_of("gather<store>", kernels), 1)
        self.assertEqual(predict_gpu.spec_of("gather<subtract<false>>", kernels), 2)
        self.assertEqual(predict_gpu.spec_of("gather<subtract_all>", kernels), 1)
        self.assertIsNone(predict_gpu.spec_of("gather_rows", kernels))
        self.assertIsNone(predict_gpu.spec_of("list_gather<store>", kernels))


class Tool(unittest.TestCase):
    def run_tool(self, *words):
        return subprocess.run([sys.executable, str(TOOL), *map(str, words)], capture_output=True, text=True)

    def test_bad_input_is_one_line_and_exit_code_2(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder, "empty")
            empty.mkdir()
            damaged = pathlib.Path(folder, "damaged.json")
            damaged.write_text("{")
            for words in ((), ("table",), ("table", "--code", empty), ("table", "--code", pathlib.Path(folder, "none")),
                          ("table", "--code", empty, "--capabilities", "x"), ("show", "no_such_kernel"),
                          ("show", "parallel_gather", "--table", damaged),
                          ("show", "parallel_gather", "--capability", 75),
                          ("check", "--code", empty, "--table", damaged)):
                done = self.run_tool(*words)
                self.assertEqual(done.returncode, 2, f"{words}: {done}")
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, f"{words}: {done.stderr}")
                self.assertEqual(done.stdout, "")
                self.assertNotIn("Traceback", done.stderr)

    def test_shows_the_table_of_the_program(self):
        done = self.run_tool("show", "parallel_gather")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("pixel round", done.stdout)

    def test_differences_of_more_than_2_percent_are_found(self):
        sys.path.insert(0, str(ROOT / "bench"))
        import predict_gpu
        table = {"k": {"90": {"units": {"": {"loop": {"issue": 100, "LDG": 4}}}}}}
        for issue, found in ((100, 0), (102, 0), (103, 1)):
            other = json.loads(json.dumps(table))
            other["k"]["90"]["units"][""]["loop"]["issue"] = issue
            self.assertEqual(len(predict_gpu.differences(table, other, [90])), found, issue)
        self.assertEqual(len(predict_gpu.differences(table, {}, [90])), 1)


if __name__ == "__main__":
    unittest.main()
