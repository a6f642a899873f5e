// A program as XLA's HloProto, which the graph viewer and the memory viewer of XProf show. Kernels are custom calls, so
// that tools do not replace their counts by estimates. Field numbers are from xla/service/hlo.proto and
// xla/xla_data.proto.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/profile/program.hpp"
#include "mbirk/profile/wire.hpp"

namespace mbirk::profile {

namespace detail {

/// Assigns offsets of temporaries in one block of memory: first fit.
class arena {
 public:
  std::int64_t place(std::int64_t bytes) {
    std::int64_t at = 0;
    for (auto const& [begin, size] : used_) {
      if (begin - at >= bytes) break;
      at = begin + size;
    }
    used_[at] = bytes;
    size_ = std::max(size_, at + bytes);
    return at;
  }
  void release(std::int64_t at) { used_.erase(at); }
  std::int64_t size() const noexcept { return size_; }

 private:
  std::map<std::int64_t, std::int64_t> used_;
  std::int64_t size_ = 0;
};

class hlo_writer {
 public:
  hlo_writer(program const& p, std::int64_t id) : p_(p), id_(id), names_(names_of(p)) {}

  std::string bytes() {
    instructions();
    wire computation, whole, schedule, sequence, entry;
    auto const shape = program_shape();
    computation.text(1, "main");
    for (auto const& i : instructions_) computation.message(2, i);
    computation.message(4, shape);
    computation.number(5, computation_id);
    computation.number(6, ids_.back());
    whole.text(1, p_.name);
    whole.text(2, "main");
    whole.message(3, computation);
    whole.message(4, shape);
    whole.number(5, id_);
    whole.number(6, computation_id);
    sequence.packed(1, ids_);
    entry.number(1, computation_id);
    entry.message(2, sequence);
    schedule.message(1, entry);
    whole.message(7, schedule);
    wire out;
    out.message(1, whole);
    out.message(3, buffer_assignment());
    return out.bytes();
  }

 private:
  static constexpr std::int64_t computation_id = 1;

  static int element_type(std::string_view type) {
    for (auto const& [name, number] : {std::pair{"f32", 11}, {"f64", 12}, {"i32", 4}, {"i64", 5}})
      if (type == name) return number;
    return 6;  // U8
  }
  static wire array_shape(int type, std::vector<std::int64_t> const& extents) {
    wire shape, layout;
    std::vector<std::int64_t> minor_to_major;
    for (auto k = static_cast<std::int64_t>(extents.size()); k-- > 0;) minor_to_major.push_back(k);
    layout.packed(1, minor_to_major);
    shape.number(2, type);
    shape.packed(3, extents);
    shape.message(5, layout);
    return shape;
  }
  static wire no_value() { return array_shape(11, {}); }
  static wire shape_of(program_buffer const& b) {
    return b.shape.empty() ? array_shape(6, {static_cast<std::int64_t>(b.bytes)})
                           : array_shape(element_type(b.type), b.shape);
  }
  std::vector<std::size_t> with_role(array_role role) const {
    std::vector<std::size_t> found;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].role == role) found.push_back(b);
    return found;
  }
  wire result_shape() const {
    auto const outputs = with_role(array_role::output);
    if (outputs.empty()) return no_value();
    if (outputs.size() == 1) return shape_of(p_.buffers[outputs[0]]);
    wire tuple;
    tuple.number(2, 13);
    for (auto const b : outputs) tuple.message(4, shape_of(p_.buffers[b]));
    return tuple;
  }
  wire program_shape() const {
    wire shape;
    for (auto const b : with_role(array_role::argument)) {
      shape.message(1, shape_of(p_.buffers[b]));
      shape.text(3, names_.buffers[b]);
    }
    shape.message(2, result_shape());
    return shape;
  }

  struct described {
    std::string name, opcode, target, op_name, op_type;
    std::string file = {};
    int line = 0;
  };
  std::int64_t add(described const& d, wire const& shape, std::vector<std::int64_t> const& operands,
                   std::int64_t parameter = -1) {
    auto const id = computation_id << 32 | static_cast<std::int64_t>(ids_.size() + 1);
    wire metadata, i;
    metadata.text(1, d.op_type);
    metadata.text(2, d.op_name);
    if (!d.file.empty()) {
      metadata.text(3, utf8_line(d.file));
      metadata.number(4, d.line);
    }
    i.text(1, d.name);
    i.text(2, d.opcode);
    i.message(3, shape);
    i.message(7, metadata);
    if (parameter >= 0) i.number(9, parameter);
    if (!d.target.empty()) i.text(28, d.target);
    i.number(35, id);
    if (!operands.empty()) i.packed(36, operands);
    instructions_.push_back(std::move(i));
    ids_.push_back(id);
    return id;
  }

  /// Emits arguments, temporaries, kernels in order, and the result. A kernel depends on the last writer of each buffer
  /// that it reads or writes.
  void instructions() {
    std::string const path = "mbirk/" + plain_name(p_.operation) + '/';
    std::vector<std::int64_t> made_by(p_.buffers.size(), 0);
    std::int64_t parameters = 0;
    for (auto const b : with_role(array_role::argument))
      made_by[b] = add({names_.buffers[b], "parameter", "", path + names_.buffers[b], "argument"},
                       shape_of(p_.buffers[b]), {}, parameters++);
    for (auto const b : with_role(array_role::temporary))
      made_by[b] = add({names_.buffers[b], "custom-call", "AllocateBuffer", path + names_.buffers[b], "temporary"},
                       shape_of(p_.buffers[b]), {});
    defined_at_ = made_by;
    std::int64_t last = 0;
    for (std::size_t k = 0; k < p_.kernels.size(); ++k) {
      auto const& kernel = p_.kernels[k];
      std::vector<std::int64_t> operands;
      auto const needs = [&](std::int64_t id) {
        if (id != 0 && std::find(operands.begin(), operands.end(), id) == operands.end()) operands.push_back(id);
      };
      for (auto const b : kernel.reads) needs(made_by[b]);
      for (auto const b : kernel.writes) needs(made_by[b]);
      if (kernel.reads.empty() && kernel.writes.empty()) {
        if (last != 0) needs(last);
        else for (auto const b : with_role(array_role::argument)) needs(made_by[b]);
      }
      last = add({names_.kernels[k], "custom-call", "mbirk." + plain_name(kernel.name), op_name(p_, k),
                  plain_name(kernel.name), kernel.source_file, kernel.source_line},
                 kernel.writes.empty() ? no_value() : shape_of(p_.buffers[kernel.writes[0]]), operands);
      for (auto const b : kernel.writes) made_by[b] = last;
    }
    std::vector<std::int64_t> results;
    auto const outputs = with_role(array_role::output);
    for (auto const b : outputs)
      if (made_by[b] != 0 && std::find(results.begin(), results.end(), made_by[b]) == results.end())
        results.push_back(made_by[b]);
    if (results.empty() && last != 0) results.push_back(last);
    auto const root =
        add({result_name(outputs), "custom-call", "mbirk.result", path + "result", "result"}, result_shape(), results);
    for (auto const b : outputs) defined_at_[b] = root;
  }
  std::string result_name(std::vector<std::size_t> const& outputs) const {
    if (outputs.size() == 1) return names_.buffers[outputs[0]];
    std::set<std::string> taken(names_.buffers.begin(), names_.buffers.end());
    taken.insert(names_.kernels.begin(), names_.kernels.end());
    return unique_name("result", taken);
  }

 public:
  /// "mbirk/cone_back_project/layout/to_channel_major"; the viewers show these names as a tree.
  static std::string op_name(program const& p, std::size_t k) {
    auto path = "mbirk/" + plain_name(p.operation) + '/';
    for (auto const c : p.kernels[k].stage) path += c == '/' ? std::string(1, c) : plain_name(std::string_view(&c, 1));
    return path + (path.back() == '/' ? "" : "/") + plain_name(p.kernels[k].name);
  }

 private:
  std::int64_t logical_buffer(wire& to, std::size_t b, std::int64_t part) {
    auto const id = ++buffers_;
    wire logical, at;
    at.number(4, defined_at_[b]);
    if (part >= 0) at.packed(3, std::vector{part});
    logical.number(1, id);
    logical.number(2, static_cast<std::int64_t>(p_.buffers[b].bytes));
    logical.message(3, at);
    to.message(1, logical);
    return id;
  }
  static wire assigned(std::int64_t id, std::int64_t offset, std::int64_t bytes) {
    wire a;
    a.number(1, id);
    a.number(2, offset);
    a.number(3, bytes);
    return a;
  }

  /// One allocation for each argument and output, and one for all temporaries, with the order in which they are
  /// allocated and freed.
  wire buffer_assignment() {
    wire out;
    std::int64_t index = 0;
    auto const outer = [&](array_role role) {
      auto const all = with_role(role);
      for (std::size_t k = 0; k < all.size(); ++k) {
        auto const bytes = static_cast<std::int64_t>(p_.buffers[all[k]].bytes), number = static_cast<std::int64_t>(k);
        bool const argument = role == array_role::argument;
        auto const id = logical_buffer(out, all[k], !argument && all.size() > 1 ? number : -1);
        wire allocation;
        allocation.number(1, index++);
        allocation.number(2, bytes);
        if (argument) {
          allocation.number(5, 1);
          allocation.number(6, number);
        } else
          allocation.number(7, 1);
        allocation.message(9, assigned(id, 0, bytes));
        out.message(3, allocation);
      }
    };
    outer(array_role::argument);
    outer(array_role::output);
    temporaries(out, index);
    return out;
  }
  void temporaries(wire& out, std::int64_t index) {
    auto const heap = whole_heap();
    if (heap.empty()) return no_temporaries(out, index);
    struct slot { std::int64_t id, offset; };
    std::map<std::size_t, std::vector<slot>> live;
    arena memory;
    wire events, assignments;
    for (auto const& change : heap) {
      auto& mine = live[change.buffer];
      auto const bytes = static_cast<std::int64_t>(p_.buffers[change.buffer].bytes);
      std::int64_t id = 0;
      if (change.allocate) {
        id = logical_buffer(out, change.buffer, -1);
        auto const offset = memory.place(bytes);
        mine.push_back({id, offset});
        assignments.message(9, assigned(id, offset, bytes));
      } else {
        id = mine.back().id;
        memory.release(mine.back().offset);
        mine.pop_back();
      }
      wire event;
      event.number(1, change.allocate ? 0 : 1);
      event.number(2, id);
      event.text(3, "main");
      event.text(4, p_.kernels.empty() ? names_.buffers[change.buffer] : names_.kernels[change.kernel]);
      events.message(1, event);
    }
    wire allocation;
    allocation.number(1, index);
    allocation.number(2, memory.size());
    allocation.append(assignments);
    out.message(3, allocation);
    events.number(3, index);
    out.message(4, events);
  }
  /// The memory viewer needs a heap trace for its timeline; without temporaries, 0 bytes with the name of the result
  /// are allocated and freed.
  void no_temporaries(wire& out, std::int64_t index) {
    wire logical, at, allocation, events;
    at.number(4, ids_.back());
    logical.number(1, ++buffers_);
    logical.number(2, 0);
    logical.message(3, at);
    out.message(1, logical);
    allocation.number(1, index);
    allocation.number(2, 0);
    allocation.message(9, assigned(buffers_, 0, 0));
    out.message(3, allocation);
    for (std::int64_t const kind : {0, 1}) {
      wire event;
      event.number(1, kind);
      event.number(2, buffers_);
      event.text(3, "main");
      event.text(4, p_.kernels.empty() ? p_.name : kind == 0 ? names_.kernels.front() : names_.kernels.back());
      events.message(1, event);
    }
    events.number(3, index);
    out.message(4, events);
  }
  /// The heap trace, plus the temporaries whose lifetime is unknown. Temporaries of 0 bytes are omitted.
  std::vector<heap_change> whole_heap() const {
    std::vector<bool> known(p_.buffers.size());
    for (auto const& c : p_.heap) known[c.buffer] = true;
    std::vector<heap_change> heap;
    for (auto const b : with_role(array_role::temporary))
      if (!known[b] && p_.buffers[b].bytes > 0) heap.push_back({b, true, 0});
    for (auto const& c : p_.heap)
      if (p_.buffers[c.buffer].bytes > 0) heap.push_back(c);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].role == array_role::temporary && !known[b] && p_.buffers[b].bytes > 0)
        heap.push_back({b, false, p_.kernels.empty() ? 0 : p_.kernels.size() - 1});
    return heap;
  }

  program const& p_;
  std::int64_t id_;
  instruction_names names_;
  std::vector<wire> instructions_;
  std::vector<std::int64_t> ids_, defined_at_;
  std::int64_t buffers_ = 0;
};

}  // namespace detail

/// Bytes of an uncompressed HloProto: one computation with arguments, temporaries (custom calls AllocateBuffer),
/// kernels in order and the result, and a BufferAssignment with a heap trace. Offsets of temporaries are invented:
/// first fit.
/// @param id  id of the program, also used in the file that refers to it.
/// @throws description_error
inline std::string to_hlo_proto(program const& p, std::int64_t id = 1) {
  validate(p);
  return detail::hlo_writer(p, id).bytes();
}

}  // namespace mbirk::profile
