// The one table of operations, used by ops, run and profile. An operation is an entry in one of operations_*.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/instrument/any.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// How operations run on the host and what is observed: chosen at run time, counted, predicted by the cost model, or only sized. Those of devices are
/// device_operations.hpp.
using counting = instrument::counting<instrument::level::all>;
using any_context = std::variant<context<exec::host, instrument::any>, context<exec::host, counting>, context<exec::host, instrument::cost_model<>>,
                                 context<exec::host, instrument::sizing>>;

/// The scan of a case; nothing for geometry none.
using any_scan = std::variant<std::monostate, parallel_scan, cone_scan>;
std::string geometry_name(any_scan const& scan);

using any_array = std::variant<npy_array<float>, npy_array<std::int32_t>>;
std::vector<index_t> const& shape_of(any_array const& array);

/// What an array of an operation is, and so which shape it has: an image is any volume, a partition comes in the shape that the operation gives it.
enum class array_kind { sinogram, recon, pixel_indices, cylinders, image, partition };
char const* axes_of(array_kind kind);                                                              ///< "(views, rows, channels)"
std::vector<index_t> shape_of(array_kind kind, any_scan const& scan, index_t pixels);              ///< pixels: length of the list, if there is one
inline bool is_index_array(array_kind kind) { return kind == array_kind::pixel_indices || kind == array_kind::partition; }

struct input_info {
  std::string name = {};
  array_kind kind = array_kind::image;
  bool required = true;
  bool may_be_nan = false;        ///< NaN in the input means NaN in the result, not an error
  bool only_inside_mask = false;  ///< what lies outside is not read, so it need not be finite
};
enum class value_kind { integer, number, text, boolean };
char const* name_of(value_kind kind);
struct argument_info {
  std::string name = {};
  value_kind kind = value_kind::number;
  nlohmann::json fallback = {};  ///< null: may be left out, and then the operation finds a value
};

/// What an operation works on: its inputs by name, its arguments (all of them: given or fallback) and its result, already of the right shape.
/// For the cost model arrays have shapes and no data, lists of pixels excepted.
struct operands {
  std::map<std::string, any_array, std::less<>> inputs;
  std::map<std::string, nlohmann::json, std::less<>> arguments;
  recon_options settings;                                     ///< the parameters of reconstruction that belong to the scan, not to the call
  denoise_options denoiser;                                   ///< the same for the denoiser, in a case without geometry
  std::optional<std::array<index_t, 3>> recon_shape;          ///< of a case without geometry
  any_array output;
  std::vector<std::string> warnings;                          ///< what the operation found worth saying

  /// Views of the arrays; the caller knows their ranks. A missing optional input is an empty optional.
  view<float const, 3> volume(std::string_view name) const;
  view<float const, 2> cylinders(std::string_view name) const;
  view<std::int32_t const, 1> list(std::string_view name) const;
  std::optional<view<float const, 3>> optional_volume(std::string_view name) const;
  view<float, 3> output_volume();
  view<float, 2> output_cylinders();
  int integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
};

/// One call of an operation: its time by the clock of the policy, and what was copied between host and device meanwhile.
struct call_cost {
  double seconds = 0;
  transfer_counts transfers = {};
};
/// Calls an operation, at least once, when its arrays are where the policy computes; the result of the last call is kept.
using caller = std::function<void(std::function<call_cost()> const& call)>;

struct operation {
  std::string name;   ///< as case.json has it; mbirk profile has names of its own (profile_problem.hpp)
  std::string group;  ///< the folder of the library that it comes from
  std::vector<std::string> geometries;
  bool only_on_host;  ///< runs on the host under every policy
  std::vector<input_info> inputs;
  std::vector<argument_info> arguments;
  array_kind output = array_kind::image;
  std::function<void(any_context const&, any_scan const&, operands&, caller const&)> execute;
  std::function<std::uint64_t(any_scan const&, operands const&)> minimal_flops;  ///< of the definition, nonzero weights only

  /// Once.
  void run(any_context const& ctx, any_scan const& scan, operands& x) const {
    execute(ctx, scan, x, [](std::function<call_cost()> const& call) { call(); });
  }
};

std::vector<operation> const& operations();
/// Null when there is no such operation.
operation const* find_operation(std::string_view name);

/// Length of the operation's list of pixels; 0 when it has none.
index_t listed_pixels(operation const& op, operands const& x);
/// Gives operands.output its shape, and memory. @throws allocation_error
void allocate_output(operation const& op, any_scan const& scan, operands& x, bool with_data = true);

}  // namespace mbirk::program
