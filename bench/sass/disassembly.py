"""Reads the disassembly that `nvdisasm -gi -c` prints: instructions with their lines of source, basic blocks, loops.

Only what a prediction of the run time needs: code that a kernel enters in rare cases (slow paths of divisions and
roots, warps that a barrier has to collect) is marked as cold and belongs to no loop.
"""
import collections
import re

SECTION = re.compile(r"\s*\.section\s+\.text\.([^,]+),")
LABEL = re.compile(r"(\.L_x?_?\w+|\$?[\w$.]+):\s*$")
INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
PLACE = re.compile(r'\s*//## File "([^"]+)", line (\d+)(?: inlined at "([^"]+)", line (\d+))?')
TARGET = re.compile(r"`\((\.[^)]+)\)")
REGISTER = re.compile(r"\b(UR|R|UP|P)(\d+)(\.64)?(?![\w])")

# Pipes of a multiprocessor by opcode, in order; what no line names goes to the integer pipe.
PIPES = (
    ("fp64", r"D(FMA|ADD|MUL|SETP|MNMX)"),
    ("special", r"MUFU|F2I|I2F|F2F|FRND|I2I|F2FP|I2FP|POPC|FLO|BREV"),
    ("memory", r"LD|ST|ATOM|RED|SHFL|BAR|MATCH|CCTL|MEMBAR|ERRBAR"),
    ("fma", r"FFMA|FADD|FMUL|IMAD|HFMA2|FCHK"),
    ("branch", r"BRA|BRX|CALL|RET|EXIT|BSSY|BSYNC|WARPSYNC|NOP|YIELD|BREAK|BMOV|JMP"),
    ("uniform", r"U[A-Z]|R2UR|S2UR|LDC|S2R|CS2R"),
)
# Clocks from the issue of an instruction to the issue of one that needs its result, by pipe: typical of published
# microbenchmarks of Volta to Hopper. Loads of global memory are counted in rounds instead, because their latency
# depends on the level of memory.
LATENCY = {"fp64": 8, "special": 18, "memory": 30, "fma": 4, "branch": 8, "uniform": 10, "integer": 5}
GLOBAL = re.compile(r"LDG|LD\.|ATOMG|LDL")
L1_LATENCY = 35
REQUESTS = ("LDG", "STG", "LDS", "STS", "LDL", "STL", "SHFL", "ATOM", "RED")
# Where packs are loaded and stored.
PACKS = "mbirk/simd/warp.hpp"


class Instruction:
    """An instruction; `places` are its lines of source, from the innermost inlined function to the kernel."""
    __slots__ = ("text", "op", "guard", "places", "writes", "reads")

    def __init__(self, text, places):
        guard = re.match(r"@(!?U?P\w+)\s+", text)
        self.guard = guard[1] if guard and guard[1] not in ("PT", "UPT") else None
        self.text = text[guard.end():] if guard else text
        self.op = self.text.split()[0].rstrip(",")
        self.places = places
        self.writes, self.reads = self._operands()

    def _operands(self):
        """Registers written and read, pairs and quads as several."""
        operands = self.text[len(self.op):].split(",")
        stores = re.match(r"ST|RED|BRA|EXIT|BAR|CALL|RET|BSYNC|BSSY", self.op)
        writes, reads = set(), set()
        pairs = re.search(r"\.64|WIDE|^D(FMA|ADD|MUL)|F2F\.F64|I2F\.F64", self.op)
        width = 4 if ".128" in self.op else 2 if pairs else 1
        setp = "SETP" in self.op
        for position, operand in enumerate(operands):
            for kind, number, pair in REGISTER.findall(operand):
                written = not stores and (position == 0 or (setp and position == 1 and kind in ("P", "UP")))
                if written:
                    writes |= {f"{kind}{int(number) + k}" for k in range(width if kind in ("R", "UR") else 1)}
                else:
                    wide = 2 if pair or (self.op.startswith("D") and kind == "R") else 1
                    reads |= {f"{kind}{int(number) + k}" for k in range(wide)}
        if self.guard:
            reads.add(self.guard.lstrip("!"))
        return writes, reads

    @property
    def pipe(self):
        return next((name for name, pattern in PIPES if re.match(pattern, self.op)), "integer")

    @property
    def target(self):
        found = TARGET.search(self.text)
        return found[1] if found else None


class Function:
    def __init__(self, name):
        self.name = name
        self.instructions = []
        self.labels = {}


def parse(text):
    """{name: Function} of a disassembly."""
    functions, current, chain, open_chain = {}, None, (), False
    for line in text.splitlines():
        if found := SECTION.match(line):
            current = functions[found[1]] = Function(found[1])
            chain, open_chain = (), False
        elif current is None:
            continue
        elif found := PLACE.match(line):
            here = (found[1], int(found[2]))
            chain = chain + (here,) if open_chain else (here,)
            open_chain = found[3] is not None
        elif found := INSTRUCTION.match(line):
            current.instructions.append(Instruction(found[2], chain))
        elif found := LABEL.match(line):
            current.labels[found[1]] = len(current.instructions)
    for function in functions.values():  # what pads the function to whole cache lines
        while function.instructions and function.instructions[-1].op == "NOP":
            function.instructions.pop()
    return {name: f for name, f in functions.items() if f.instructions}


class Block:
    """Instructions that run one after another. `loops`: headers of the loops around it, outermost first."""

    def __init__(self, instructions):
        self.instructions = instructions
        self.next, self.before = [], []
        self.cold = any("COLLECTIVE" in i.op or (i.op.startswith("CALL") and "$" in i.text) for i in instructions)
        self.loops = []


def blocks_of(function):
    """Basic blocks in the order of the code."""
    code, labels = function.instructions, function.labels
    starts = {0}
    for at, i in enumerate(code):
        if re.match(r"BRA|EXIT|RET|BRX|JMP|WARPSYNC\.COLLECTIVE|CALL", i.op):
            starts.add(at + 1)
            starts |= {labels[label] for label in re.findall(r"\.L_x?_?\w+", i.text) if label in labels}
    for label, at in labels.items():
        if label.startswith("$"):
            starts.add(at)
    order = sorted(at for at in starts if at < len(code))
    blocks = [Block(code[a:b]) for a, b in zip(order, order[1:] + [len(code)])]
    place = {at: k for k, at in enumerate(order)}
    for k, block in enumerate(blocks):
        last = block.instructions[-1]
        follows = []
        if last.op.startswith("BRX"):
            follows += [place[labels[label]] for label in re.findall(r"\.L_x?_?\w+", last.text) if label in labels]
        # The compiler also jumps by calls that do not return; slow paths, which do, have names with a $.
        far = last.op.startswith("CALL") and "$" not in last.text
        jumps = (far or last.op.startswith(("BRA", "JMP"))) and labels.get(last.target, len(code)) < len(code)
        divergent = last.op.startswith("BRA.DIV")  # taken by warps whose threads are not together
        if jumps and not divergent:
            follows.append(place[labels[last.target]])
        conditional = last.guard or divergent or re.search(r"BRA\S*\s+!?U?P\d", last.text)
        if conditional or not (far or last.op.startswith(("BRA", "BRX", "JMP", "EXIT", "RET"))):
            follows.append(k + 1)
        block.next = [n for n in dict.fromkeys(follows) if n < len(blocks)]
    for block in blocks:
        block.next = [n for n in block.next if not blocks[n].cold]
    return blocks


def find_loops(blocks):
    """Sets the loops of every block that the kernel reaches: natural loops, by dominators. Returns {header: blocks}."""
    order, seen, stack = [], {0}, [(0, iter(blocks[0].next))]
    while stack:
        block, follows = stack[-1]
        step = next((n for n in follows if n not in seen), None)
        if step is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(step)
            stack.append((step, iter(blocks[step].next)))
    order.reverse()
    rank = {b: r for r, b in enumerate(order)}
    for b in order:
        for n in blocks[b].next:
            blocks[n].before.append(b)
    dominator, changed = {0: 0}, True
    while changed:
        changed = False
        for b in order[1:]:
            new = None
            for p in blocks[b].before:
                if p not in dominator:
                    continue
                a = p
                while new is not None and a != new:
                    while rank[a] > rank[new]:
                        a = dominator[a]
                    while rank[new] > rank[a]:
                        new = dominator[new]
                new = a
            if dominator.get(b) != new:
                dominator[b] = new
                changed = True

    def dominates(a, b):
        while b != a and b != 0:
            b = dominator[b]
        return a == b

    loops = {}
    for b in order:
        for header in blocks[b].next:
            if dominates(header, b):
                body, work = loops.setdefault(header, {header}), [b]
                while work:
                    x = work.pop()
                    if x not in body:
                        body.add(x)
                        work += blocks[x].before
    for b in order:
        blocks[b].loops = sorted((h for h in loops if b in loops[h]), key=lambda h: -len(loops[h]))
    for b, block in enumerate(blocks):
        block.cold = block.cold or b not in rank
    return loops


def lone_clocks(instructions, load_latency, repeats):
    """Clocks of one warp that runs the instructions alone: in order, one a clock, each after its operands."""
    ready, now, ends = {}, 0, []
    for _ in range(2 if repeats else 1):
        for i in instructions:
            now = max([now + 1] + [ready.get(r, 0) for r in i.reads])
            if re.match(r"BRA|BAR|WARPSYNC", i.op):
                now += {"BRA": 7, "BAR": 20}.get(i.op[:3], 1)
            late = LATENCY[i.pipe]
            if GLOBAL.match(i.op):  # tables and single numbers, which all warps read, are in L1; packs are not
                late = load_latency if any(p.endswith(PACKS) for p, _ in i.places) else L1_LATENCY
            for r in i.writes:
                ready[r] = now + late
        ends.append(now)
    if repeats:
        return ends[1] - ends[0]
    return max([now] + [t for r, t in ready.items() if r.startswith("R")])


def costs(instructions, repeats=False):
    """What one pass over the instructions costs: instructions by pipe, requests, and the time of a warp alone."""
    cost = collections.Counter()
    for i in instructions:
        cost["issue"] += 1
        cost[i.pipe] += 1
        if i.pipe == "memory":
            kind = next((k for k in REQUESTS if i.op.startswith(k)), None)
            if kind:
                cost[kind] += 1
                # Loads of several words are uniform in these kernels, but for those of packs; stores are not.
                words = 4 if ".128" in i.op else 2 if ".64" in i.op else 1
                of_packs = any(path.endswith(PACKS) for path, _ in i.places)
                cost["wavefronts"] += words if kind == "STS" or of_packs else 1
        if i.op.startswith("FFMA"):
            cost["FFMA"] += 2 if i.op.startswith("FFMA2") else 1
    near, far = (lone_clocks(instructions, latency, repeats) for latency in (200, 600))
    cost["rounds"] = (far - near) / 400
    cost["clocks"] = near - 200 * cost["rounds"]
    return cost
