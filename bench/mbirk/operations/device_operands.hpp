// The operands of an operation in the memory of a device policy, as its body sees them, with the accessors of
// operands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/exec/array.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// Uploads float inputs when constructed, and downloads the output on request; lists of pixels and everything that is
/// not an array remain in the operands, which must outlive this. The destructor frees the memory.
template <class Context> class device_operands {
 public:
  /// @throws allocation_error, device_error
  device_operands(Context const& ctx, operands& x)
      : settings(x.settings),
        denoiser(x.denoiser),
        recon_shape(x.recon_shape),
        warnings(x.warnings),
        host_(x),
        output_(ctx.exec, std::ssize(result().data), "the result") {
    for (auto const& [name, array] : x.inputs)
      if (auto const* input = std::get_if<npy_array<float>>(&array))
        inputs_.try_emplace(name, ctx.exec, std::span<float const>(input->data), "the input '" + name + "'");
  }
  device_operands(device_operands const&) = delete;
  device_operands& operator=(device_operands const&) = delete;

  /// Copies the result to the operands; waits for it.
  void download() { output_.download(result().data); }

  view<float const, 3> volume(std::string_view name) const { return {device_data(name), host_.volume(name).extents()}; }
  view<float const, 2> voxel_columns(std::string_view name) const {
    return {device_data(name), host_.voxel_columns(name).extents()};
  }
  std::optional<view<float const, 3>> optional_volume(std::string_view name) const {
    if (!inputs_.contains(name)) return {};
    return volume(name);
  }
  view<float, 3> output_volume() const { return {output_.data(), host_.output_volume().extents()}; }
  view<float, 2> output_voxel_columns() const { return {output_.data(), host_.output_voxel_columns().extents()}; }

  view<std::int32_t const, 1> list(std::string_view name) const { return host_.list(name); }
  int integer(std::string_view name) const { return host_.integer(name); }
  bool boolean(std::string_view name) const { return host_.boolean(name); }
  std::string text(std::string_view name) const { return host_.text(name); }
  std::optional<double> number(std::string_view name) const { return host_.number(name); }

  recon_model_options const& settings;
  denoise_options const& denoiser;
  std::optional<std::array<index_t, 3>> const& recon_shape;
  std::vector<std::string>& warnings;

 private:
  using device_array = exec::array<float, decltype(Context::exec)>;

  float const* device_data(std::string_view name) const { return inputs_.find(name)->second.data(); }
  npy_array<float>& result() const { return std::get<npy_array<float>>(host_.output); }

  operands& host_;
  std::map<std::string, device_array, std::less<>> inputs_;
  device_array output_;
};

}  // namespace mbirk::program
