"""Holds the headers of include/mbirk to include what they use of the standard library.

The headers are compiled alone as well (alone_test.py), but with all of the standard library, which hides a missing
include of it. So this reads the names std::... in each header, and expects one of
the headers that provide the name among the includes of the header or of the headers of mbirk that it includes. A name
that no row below knows is a failure: add it. Exit code: 0 when all hold, 1 when not."""
import pathlib
import re
import sys

include = pathlib.Path(sys.argv[1])
# Header: the names that it provides, separated by spaces.
PROVIDES = {
    "algorithm": "all_of any_of none_of clamp copy copy_n count count_if equal fill fill_n find find_if "
                 "is_sorted_until max max_element min min_element minmax_element nth_element ranges replace "
                 "replace_if reverse sort transform upper_bound lower_bound",
    "any": "any any_cast",
    "array": "array",
    "atomic": "atomic atomic_ref memory_order_acq_rel memory_order_acquire memory_order_relaxed memory_order_release",
    "bit": "bit_cast bit_ceil bit_floor bit_width has_single_bit countl_zero countr_zero endian popcount",
    "cctype": "isspace tolower",
    "charconv": "chars_format from_chars to_chars",
    "chrono": "chrono",
    "cmath": "abs atan cbrt ceil copysign cos exp exp2 fabs floor fma fmax fmin hypot isfinite isinf ldexp llround log "
             "log2 lrint lround nearbyint pow round sin sqrt trunc",
    "complex": "complex conj norm polar",
    "concepts": "constructible_from convertible_to copyable derived_from floating_point integral same_as "
                "signed_integral unsigned_integral invocable",
    "cstdarg": "va_list",
    "cstddef": "byte to_integer ptrdiff_t size_t nullptr_t max_align_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintmax_t uintptr_t",
    "cstdio": "fclose ferror fflush fgets fopen fprintf fread fseek fwrite printf rename snprintf sscanf vsnprintf",
    "cstdlib": "abort abs aligned_alloc atof exit free getenv malloc strtod",
    "cstring": "memcmp memcpy memset strcmp strstr",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception uncaught_exceptions",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream istreambuf_iterator istream ios",
    "functional": "function greater hash invoke less plus",
    "initializer_list": "initializer_list",
    "ios": "ios streamoff streamsize",
    "iterator": "begin end next prev size ssize istreambuf_iterator",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "memory_resource": "pmr",
    "mutex": "lock_guard mutex unique_lock call_once once_flag scoped_lock",
    "new": "align_val_t bad_alloc nothrow",
    "numbers": "numbers",
    "numeric": "iota accumulate partial_sum transform_reduce",
    "optional": "nullopt optional",
    "random": "minstd_rand mt19937 random_device",
    "set": "set",
    "source_location": "source_location",
    "span": "as_bytes as_writable_bytes dynamic_extent span",
    "sstream": "istringstream",
    "stdexcept": "runtime_error",
    "string": "getline string to_string",
    "string_view": "string_view string_view_literals",
    "system_error": "errc error_category error_code generic_category system_error",
    "thread": "this_thread thread",
    "tuple": "apply tie tuple tuple_size tuple_size_v",
    "type_traits": "conditional_t decay_t false_type integral_constant invoke_result_t is_arithmetic_v is_const_v "
                   "is_convertible_v is_empty_v is_floating_point_v is_integral_v is_lvalue_reference_v is_same_v "
                   "is_signed_v is_standard_layout_v is_trivially_copyable_v is_trivially_destructible_v "
                   "is_unsigned_v is_void_v remove_const_t remove_cv_t remove_cvref_t remove_pointer_t "
                   "remove_reference_t true_type type_identity is_invocable_v is_invocable_r_v void_t enable_if_t "
                   "is_enum_v underlying_type_t is_nothrow_move_constructible_v",
    "typeinfo": "type_info",
    "unordered_map": "unordered_map",
    "utility": "cmp_equal cmp_less_equal declval exchange forward in_place in_range integer_sequence "
               "make_integer_sequence index_sequence make_index_sequence move pair swap as_const",
    "variant": "get get_if monostate variant visit holds_alternative in_place_type variant_size_v "
               "variant_alternative_t",
    "vector": "erase_if vector",
}
# Names that several headers provide besides those above.
ALSO = {"size_t": "cstdio cstdlib cstring string string_view array vector span", "get": "array tuple utility",
        "less": "map set", "hash": "string string_view",
        "size": "array string vector span", "ssize": "array string vector span",
        "begin": "array string vector span map set", "end": "array string vector span map set",
        "next": "map list", "prev": "map list",
        "erase_if": "map set string deque list", "swap": "algorithm", "move": "algorithm", "exchange": "utility",
        "pair": "map", "abs": "cmath", "initializer_list": "vector string map", "tuple_size": "array",
        "in_place": "optional variant", "bad_alloc": "memory", "string_view": "string",
        "streamsize": "fstream", "streamoff": "fstream", "ranges": "ranges", "error_code": "filesystem",
        "errc": "charconv"}
# Experimental names behind feature tests.
IGNORED = {"mdspan", "dextents"}

providers = {}
for header, names in PROVIDES.items():
    for name in names.split():
        providers.setdefault(name, set()).add(header)
for name, more in ALSO.items():
    providers.setdefault(name, set()).update(more.split())

paths = {str(p.relative_to(include)): p for p in include.glob("mbirk/**/*") if p.suffix in (".hpp", ".cuh")}
texts = {name: path.read_text() for name, path in paths.items()}


def code_of(text):
    """Without comments and literals."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", re.sub(r'#include "', "#include \x00", text),
                  flags=re.S)


def closure(name, seen):
    if name not in seen:
        seen.add(name)
        for included in re.findall(r'#include "(mbirk/[^"]+)"', texts[name]):
            closure(included, seen)
    return seen


failures = []
for name in sorted(texts):
    available = {s for m in closure(name, set()) for s in re.findall(r"#include <([a-z_]+)>", texts[m])}
    for used in sorted(set(re.findall(r"\bstd::([a-z_0-9]+)", code_of(texts[name]))) - IGNORED):
        if used not in providers:
            failures.append(f"{name} uses std::{used}, which is in no row of {pathlib.Path(__file__).name}")
        elif not providers[used] & available:
            failures.append(f"{name} uses std::{used}, but includes none of {', '.join(sorted(providers[used]))}")
print(f"{len(texts)} headers")
print(*failures, sep="\n")
sys.exit(bool(failures))
