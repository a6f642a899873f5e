"""Says for the blocks of a kernel which unit of its work they belong to, such as a pixel that a warp has to add.

A unit is a loop, by its depth, and may be restricted to the lines of source of a statement: the cases of a switch.
bench/sass/units.json names the units of the kernels whose loops are not all alike.
"""
import collections
import pathlib
import re

from sass import disassembly


class Mismatch(Exception):
    """The code or the sources are not those that units.json describes; one line."""


class Sources:
    """Lines of the headers."""

    def __init__(self, include):
        self.include = pathlib.Path(include)
        self.texts, self.lines = {}, {}

    def text(self, path):
        if path not in self.texts:
            file = pathlib.Path(path)
            if not file.is_file():
                raise Mismatch(f"{path}: not found, but the kernels were compiled from it; expected the "
                                 "sources of the fatbinary in --include")
            self.texts[path] = file.read_text()
        return self.texts[path]

    def line(self, path, number):
        if path not in self.lines:
            self.lines[path] = self.text(path).splitlines()
        lines = self.lines[path]
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def extent(self, header, text):
        """First and last line of the statement that begins with `text`, which is in one place of the header."""
        path = self.include / "mbirk" / header
        whole = self.text(path)
        if whole.count(text) != 1:
            raise Mismatch(f"{path}: found '{text}' {whole.count(text)} times, expected once: change "
                             "bench/sass/units.json")
        begin = whole.index(text)
        depth, end, grouped = 0, begin, False
        while end < len(whole):
            c = whole[end]
            depth += (c in "({[") - (c in ")}]")
            if depth < 0:
                raise Mismatch(f"{path}: '{text}' is not the beginning of a statement: change bench/sass/units.json")
            grouped = grouped or c in "({["
            # A statement ends with its semicolon, or with the brace that closes its body.
            if depth == 0 and grouped and (c == ";" or (c == "}" and whole[begin:].startswith("for ("))):
                break
            end += 1
        return f"/mbirk/{header}", whole.count("\n", 0, begin) + 1, whole.count("\n", 0, end) + 1


class Unit:
    def __init__(self, name, depth, lines=None, rest=False):
        self.name, self.depth, self.lines, self.rest = name, depth, lines, rest

    def depth_of(self, instruction):
        """How many calls are inlined between the instruction and the lines; None if it is in none of them."""
        path, first, last = self.lines
        return next((k for k, (p, n) in enumerate(instruction.places) if first <= n <= last and p.endswith(path)), None)


def mark_rare(blocks, sources, rare):
    """Marks as cold what runs only for a rest of less than a pack, which a long array rarely has.

    Where a branch leads to two ways that join again, and one of them loads or stores in a line of source that `rare`
    matches while the other does not, the former is the rare way; and so it is if it does nothing else.
    """

    def accesses(block):
        """Whether each load and store of global memory in a block is rare."""
        return [any(p.endswith(disassembly.PACKS) and rare.search(sources.line(p, n)) is not None for p, n in i.places)
                for i in block.instructions if i.op.startswith(("LDG", "STG"))]

    found = {b: accesses(block) for b, block in enumerate(blocks) if not block.cold}
    marked = {b for b, all_of in found.items() if any(all_of)}
    if not marked:
        return

    def reach(start, loop):
        found, work = set(), [start] if start != loop else []
        while work:
            b = work.pop()
            if b in found or blocks[b].cold or (blocks[b].loops[-1] if blocks[b].loops else None) != loop:
                continue
            found.add(b)
            work += [n for n in blocks[b].next if n != loop]
        return found

    rarely = set()
    for block in blocks:
        if block.cold or len(block.next) != 2:
            continue
        loop = block.loops[-1] if block.loops else None
        a, b = (reach(n, loop) for n in block.next)
        for way, other in ((a - b, b - a), (b - a, a - b)):
            if way & marked and not other & marked and all(all(found[w]) for w in way):
                rarely |= way
    for b in rarely:
        blocks[b].cold = True


def mark_copies(blocks):
    """Marks as cold the second of two blocks of the same source between which a branch chooses: the compiler has made
    two copies with other registers, and a warp runs one of them."""
    def source(block):
        return {place for i in block.instructions if i.pipe != "branch" for place in i.places}

    for block in blocks:
        if block.cold or len(block.next) != 2:
            continue
        first, second = (blocks[n] for n in block.next)
        if first.next == second.next and source(first) == source(second):
            second.cold = True


def case_of(block, units):
    """The case that most instructions of a block belong to, or None."""
    cases = [u for u in units if u.depth == len(block.loops) and u.lines]
    votes = collections.Counter()
    for instruction in block.instructions:
        # The innermost lines: the compiler may say that a function was called where a similar one was.
        depths = {u: depth for u in cases if (depth := u.depth_of(instruction)) is not None}
        if depths:
            votes[min(depths, key=depths.get)] += 1
    if votes:
        best, number = votes.most_common(1)[0]
        if 2 * number > len(block.instructions):
            return best
    return None


def units_of(blocks, units):
    """{block: unit} of the blocks that belong to one. What the compiler has moved in front of the decision between two
    cases runs in both, so that it belongs to the unit that contains them."""
    cases = {b: case_of(block, units) for b, block in enumerate(blocks) if not block.cold}

    def leads(start, end, headers):
        """Whether a way leads from a block to another in the same pass through the loops with these headers."""
        work, seen = [start], set(headers)
        while work:
            b = work.pop()
            if b == end:
                return True
            if b not in seen:
                seen.add(b)
                work += blocks[b].next
        return False

    def decides(b):
        """Whether a block leads to two cases of its own loop, one of which it seems to belong to."""
        ways = [n for n in blocks[b].next if cases.get(n) is not None and blocks[n].loops == blocks[b].loops]
        return len(ways) == 2 and cases[ways[0]] != cases[ways[1]] and cases[b] in (cases[n] for n in ways) and not any(
            leads(start, end, blocks[b].loops) for start, end in (ways, ways[::-1]))

    found = {}
    for b, case in cases.items():
        if case is None or decides(b):
            case = next((u for u in units if u.depth == len(blocks[b].loops) and not u.lines), None)
        if case is not None:
            found[b] = case
    return found


def plain(cost):
    rounded = {k: round(v, 2) for k, v in sorted(cost.items()) if round(v, 2)}
    return {k: int(v) if v == int(v) else v for k, v in rounded.items()}


def share_merged(costs, shares):
    """Divides the costs of one unit among all of `shares` if the compiler attributes all of their code to it."""
    there = [name for name in shares if name in costs]
    if len(there) == 1 and len(shares) > 1:
        whole, sum_of_shares = costs[there[0]], sum(shares.values())
        for name, share in shares.items():
            costs[name] = collections.Counter({k: n * share / sum_of_shares for k, n in whole.items()})


def by_variant(function, spec, sources, rare):
    """{packs: {unit: costs}} of a kernel with units of its own."""
    blocks = disassembly.blocks_of(function)
    disassembly.find_loops(blocks)
    mark_rare(blocks, sources, rare)
    mark_copies(blocks)
    units = [Unit(u["name"], u["depth"],
                  sources.extent(u.get("header", spec["header"]), u["text"]) if "text" in u else None)
             for u in spec["units"]]
    outer = min(u.depth for u in units)
    regions = collections.defaultdict(lambda: collections.defaultdict(list))
    for b, unit in units_of(blocks, units).items():
        block = blocks[b]
        regions[block.loops[outer - 1] if "variant" in spec else None][unit.name] += block.instructions
    marker = spec.get("variant")
    variants = {}
    for code in regions.values():
        # One after another, as a warp runs them: loads of successive blocks wait together.
        costs = {name: disassembly.costs(instructions) for name, instructions in code.items()}
        share_merged(costs, spec.get("merged", {}))
        for u in spec["units"]:  # one of these copies runs
            if u["name"] in costs and "copies" in u:
                costs[u["name"]] = collections.Counter({k: n / u["copies"] for k, n in costs[u["name"]].items()})
        if not marker:
            variants[""] = {unit: plain(c) for unit, c in costs.items()}
            continue
        number = costs.get(marker["unit"], {}).get(marker["count"], 0)
        if not number:
            continue
        packs, left = divmod(number - marker.get("besides", 0), marker["each"])
        name, fastest = str(int(packs)), marker.get("fastest")
        # Of two loops for the same packs, the one with fewer of these instructions is for the usual case.
        if name in variants and fastest and costs[marker["unit"]][fastest] > variants[name][marker["unit"]][fastest]:
            continue
        if left or (name in variants and not fastest):
            raise Mismatch(f"{function.name}: a loop with {number} {marker['count']} in its unit "
                           f"'{marker['unit']}', expected a multiple of {marker['each']} and "
                           f"{marker.get('besides', 0)}, each once: change bench/sass/units.json")
        variants[name] = {unit: plain(c) for unit, c in costs.items()}
    if marker and sorted(variants) != sorted(map(str, marker["packs"])):
        raise Mismatch(f"{function.name}: found loops for {sorted(variants)} packs, "
                       f"expected {marker['packs']}")
    return dict(sorted(variants.items()))


def hottest_loop(function, sources, rare):
    """Costs of a pass through the innermost loop that does the work: the one with the most requests to global
    memory."""
    blocks = disassembly.blocks_of(function)
    loops = disassembly.find_loops(blocks)
    mark_rare(blocks, sources, rare)
    best = None
    for header in loops:
        own = [blocks[b] for b in sorted(loops[header]) if blocks[b].loops[-1] == header]
        cost = disassembly.costs([i for b in own if not b.cold for i in b.instructions], True)
        requests = sum(cost[k] for k in ("LDG", "STG", "ATOM", "RED"))
        score = (requests > 0, len(blocks[header].loops), requests, cost["issue"])
        if best is None or score > best[0]:
            best = (score, cost)
    if best is None:  # no loop: what every task executes once
        return plain(disassembly.costs([i for b in blocks if not b.cold for i in b.instructions]))
    return plain(best[1])
