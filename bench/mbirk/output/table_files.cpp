#include "output/table_files.hpp"

#if defined(MBIRK_WITH_LIBLZMA)

#include <lzma.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/io/output_file.hpp"

namespace mbirk::program {
namespace {

using json = nlohmann::json;

/// Writes lines of fields according to RFC 4180, but terminated by a line feed only.
class csv {
 public:
  explicit csv(std::initializer_list<char const*> columns) : columns_(columns.size()) {
    for (auto const* name : columns) text(name);
  }
  csv& text(std::string_view field) {
    bool const quoted = field.find_first_of(",\"\n\r") != field.npos;
    if (quoted) lines_ += '"';
    for (char const c : field) {
      if (c == '"') lines_ += '"';
      lines_ += c;
    }
    if (quoted) lines_ += '"';
    bool const last = ++at_ == columns_;
    lines_ += last ? '\n' : ',';
    if (last) at_ = 0;
    return *this;
  }
  /// Adds a number or text; an empty field for null. Numbers have enough digits to be read back exactly.
  csv& add(json const& field) {
    if (field.is_null()) return text({});
    return field.is_string() ? text(field.get_ref<std::string const&>()) : text(field.dump());
  }
  /// Adds members of an object; empty fields for missing ones.
  csv& add(json const& object, std::initializer_list<char const*> names) {
    for (auto const* name : names) add(object.is_object() && object.contains(name) ? object[name] : json());
    return *this;
  }
  std::string const& lines() const noexcept { return lines_; }

 private:
  std::size_t columns_, at_ = 0;
  std::string lines_;
};

void write_xz(std::filesystem::path const& path, std::string const& text) {
  std::vector<std::uint8_t> out(lzma_stream_buffer_bound(text.size()));
  std::size_t size = 0;
  auto const code = lzma_easy_buffer_encode(LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, nullptr,
                                            reinterpret_cast<std::uint8_t const*>(text.data()), text.size(), out.data(),
                                            &size, out.size());
  require<io_error>(code == LZMA_OK,
                    [&] { return path.string() + ": liblzma cannot compress it (code " + std::to_string(code) + ")"; });
  output_file file(path, durability::unsynced);
  file.write(out.data(), size);
  file.commit();
}

csv measurement_table(json const& report) {
  csv t{"operation", "volume_size", "run",      "time",      "traced",     "warm_up", "calls",     "min",
        "max",       "uploads",     "bytes_up", "downloads", "bytes_down", "source",  "disturbed", "reason"};
  for (auto const& m : report["measurements"])
    t.add(m, {"operation", "volume_size", "run", "time", "traced", "warm_up", "calls", "min", "max", "uploads",
              "bytes_up", "downloads", "bytes_down", "source", "disturbed", "reason"});
  return t;
}

/// Calls f(size, operation, cost) for everything that was counted.
template <class F> void each_cost(json const& report, F const& f) {
  for (auto const& [size, costs] : report["cost_analysis"].items())
    for (auto const& [operation, cost] : costs.items()) f(size, operation, cost);
}

csv kernel_table(json const& report) {
  csv t{"operation", "volume_size",  "stage",        "kernel",    "launches", "tasks",
        "flops",     "bytes_loaded", "bytes_stored", "intensity", "source"};
  each_cost(report, [&](auto const& size, auto const& operation, json const& cost) {
    if (!cost.contains("kernels")) return;
    for (auto const& k : cost["kernels"])
      t.text(operation)
          .text(size)
          .add(k,
               {"stage", "name", "launches", "tasks", "flops", "bytes loaded", "bytes stored", "arithmetic intensity"})
          .add(cost, {"source"});
  });
  return t;
}

/// "-3:12 -2:40": number of values for each exponent.
std::string exponents_text(json const& values) {
  std::string text;
  if (!values.is_object()) return text;
  for (auto const& [exponent, n] : values["exponents"].items())
    text += (text.empty() ? "" : " ") + exponent + ':' + n.dump();
  return text;
}

csv array_table(json const& report) {
  csv t{"operation",
        "volume_size",
        "policy",
        "array",
        "role",
        "type",
        "elements",
        "bytes",
        "loads",
        "stores",
        "bytes_loaded",
        "bytes_stored",
        "bytes_unique_read",
        "bytes_unique_written",
        "requests",
        "sectors",
        "sectors_per_request",
        "lanes_per_request",
        "min",
        "max",
        "min_nonzero_magnitude",
        "zeros",
        "not_finite",
        "exponents",
        "source"};
  each_cost(report, [&](auto const& size, auto const& operation, json const& cost) {
    auto const rows = [&](char const* policy, json const& arrays) {
      for (auto const& a : arrays) {
        json const access = a.value("access", json()), values = a.value("values", json());
        t.text(operation)
            .text(size)
            .text(policy)
            .add(a, {"name", "role", "type", "elements", "bytes", "loads", "stores", "bytes loaded", "bytes stored",
                     "bytes unique read", "bytes unique written"})
            .add(access, {"requests", "sectors", "sectors per request", "lanes per request"})
            .add(values, {"min", "max", "min nonzero magnitude", "zeros", "not finite"})
            .text(exponents_text(values))
            .add(cost, {"source"});
      }
    };
    rows("host", cost["arrays"]);
    if (cost.contains("device")) rows("emulated", cost["device"]["arrays"]);
  });
  return t;
}

csv reuse_table(json const& report) {
  csv t{"operation", "volume_size",    "stage",          "array",       "role",
        "elements",  "capacity_lines", "capacity_bytes", "read_misses", "write_backs"};
  each_cost(report, [&](auto const& size, auto const& operation, json const& cost) {
    auto const curve = [&](json const& stage, json const& array, json const& reuse) {
      for (std::size_t k = 0; k < reuse["capacity lines"].size(); ++k) {
        json const& lines = reuse["capacity lines"][k];
        t.text(operation)
            .text(size)
            .add(stage)
            .add(array, {"name", "role", "elements"})
            .add(lines)
            .add(json(lines.get<std::uint64_t>() * reuse["line bytes"].get<std::uint64_t>()))
            .add(reuse["read misses"][k])
            .add(reuse.contains("write backs") ? reuse["write backs"][k] : json());
      }
    };
    if (!cost.contains("reuse")) return;
    curve({}, {}, cost["reuse"]);
    for (auto const& a : cost["arrays"]) curve({}, a, a["reuse"]);
    for (auto const& s : cost["reuse by stage"]) {
      curve(s["name"], {}, s["reuse"]);
      for (auto const& a : s["arrays"]) curve(s["name"], a, a["reuse"]);
    }
  });
  return t;
}

}  // namespace

void write_tables(std::filesystem::path const& folder, json const& report) {
  write_xz(folder / "measurements.csv.xz", measurement_table(report).lines());
  write_xz(folder / "kernels.csv.xz", kernel_table(report).lines());
  write_xz(folder / "arrays.csv.xz", array_table(report).lines());
  write_xz(folder / "reuse.csv.xz", reuse_table(report).lines());
}

}  // namespace mbirk::program

#else

namespace mbirk::program {
void write_tables(std::filesystem::path const&, nlohmann::json const&) {}
}  // namespace mbirk::program

#endif
