// The single table of operations, used by ops, run and profile. The entry of an operation is made by its body, in one
// of operations_*.hpp.
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
#include "mbirk/geometry/list.hpp"
#include "mbirk/instrument/any.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "mbirk/io/npy.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// Host policies with their instrumentation: chosen at run time, counted, predicted by the cost model, or only sized.
/// Device policies are in device_operations.hpp.
using counting = instrument::counting<instrument::level::all>;
using any_context =
    std::variant<context<exec::host, instrument::any>, context<exec::host, counting>,
                 context<exec::host, instrument::cost_model<>>, context<exec::host, instrument::sizing>>;

/// The scan of a case; monostate for geometry none.
using any_scan = geometries::variant_of<mbirk::scan, std::monostate>;
std::string geometry_name(any_scan const& scan);

using any_array = std::variant<npy_array<float>, npy_array<std::int32_t>>;
std::vector<index_t> const& shape_of(any_array const& array);

/// Kind of an operation's array, which determines its shape. An image may be any volume; the operation determines the
/// shape of a partition.
enum class array_kind { sinogram, recon, pixel_indices, voxel_columns, image, partition };
char const* axes_of(array_kind kind);  ///< "(views, rows, channels)"
/// @param pixels  length of the list, if there is one.
std::vector<index_t> shape_of(array_kind kind, any_scan const& scan, index_t pixels);
inline bool is_index_array(array_kind kind) {
  return kind == array_kind::pixel_indices || kind == array_kind::partition;
}

struct input_info {
  std::string name = {};
  array_kind kind = array_kind::image;
  bool required = true;
  bool may_be_nan = false;        ///< NaN in the input produces NaN in the result, not an error
  bool only_inside_mask = false;  ///< values outside the mask are not read, so they need not be finite
};
enum class value_kind { integer, number, text, boolean };
char const* name_of(value_kind kind);
struct argument_info {
  std::string name = {};
  value_kind kind = value_kind::number;
  nlohmann::json fallback = {};  ///< default value; null: optional, the operation determines a value
};

/// Operands of an operation: its inputs by name, its arguments (all of them, given or default) and its result, already
/// of the right shape. For the cost model arrays have shapes but no data, except lists of pixels.
struct operands {
  std::map<std::string, any_array, std::less<>> inputs;
  std::map<std::string, nlohmann::json, std::less<>> arguments;
  recon_model_options settings;                               ///< reconstruction parameters of the scan
  denoise_options denoiser;                                   ///< denoiser parameters, in a case without geometry
  std::optional<std::array<index_t, 3>> recon_shape;          ///< in a case without geometry
  any_array output;
  std::vector<std::string> warnings;                          ///< warnings of the operation

  /// Views of the arrays; the caller knows their rank. A missing optional input is an empty optional.
  view<float const, 3> volume(std::string_view name) const;
  view<float const, 2> voxel_columns(std::string_view name) const;
  view<std::int32_t const, 1> list(std::string_view name) const;
  std::optional<view<float const, 3>> optional_volume(std::string_view name) const;
  view<float, 3> output_volume();
  view<float, 2> output_voxel_columns();
  int integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
};

/// Cost of one call of an operation: its time by the policy's clock, and the transfers between host and device during
/// the call.
struct call_cost {
  double seconds = 0;
  transfer_counts transfers = {};
};
/// Calls an operation at least once, after its arrays have been copied to the policy's memory; the result of the last
/// call is kept.
using caller = std::function<void(std::function<call_cost()> const& call)>;

/// A call of `mbirk profile`: its name there, and the arguments that differ from the defaults.
struct profile_case {
  std::string name = {};  ///< after the name of the geometry if the operation needs a scan; empty: its own name
  std::map<std::string, nlohmann::json> arguments = {};
};

struct operation {
  std::string name;   ///< name in case.json
  std::string body;   ///< name of its body, which operations of several names share
  std::string group;  ///< folder of the library that contains it
  std::vector<std::string> geometries;
  bool needs_scan;
  bool only_on_host;  ///< runs on the host under every policy
  std::vector<input_info> inputs;
  std::vector<argument_info> arguments;
  array_kind output = array_kind::image;
  std::function<void(any_context const&, any_scan const&, operands&, caller const&)> execute;
  /// Flops of the definition, for nonzero weights only.
  std::function<std::uint64_t(any_scan const&, operands const&)> minimal_flops;
  std::vector<profile_case> profile;

  /// Runs the operation once.
  void run(any_context const& ctx, any_scan const& scan, operands& x) const {
    execute(ctx, scan, x, [](std::function<call_cost()> const& call) { call(); });
  }
};

std::vector<operation> const& operations();
/// Returns null if the operation does not exist.
operation const* find_operation(std::string_view name);

/// Length of the operation's list of pixels; 0 without a list.
index_t listed_pixels(operation const& op, operands const& x);
/// Sets the shape of operands.output and allocates it.
/// @throws allocation_error
void allocate_output(operation const& op, any_scan const& scan, operands& x, bool with_data = true);

}  // namespace mbirk::program
