// The operands of an operation in the memory of a policy of blocks: what bodies see there, with the accessors of operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/context.hpp"
#include "operations.hpp"

namespace mbirk::program {

/// Float inputs are uploaded when it is made, the output is fetched when that is asked for; lists of pixels and all that is no array stay with the
/// operands, which must outlive this. The memory is given back whatever happens.
template <class Context> class placed_operands {
 public:
  /// @throws allocation_error, device_error
  placed_operands(Context const& ctx, operands& x)
      : settings(x.settings), denoiser(x.denoiser), recon_shape(x.recon_shape), warnings(x.warnings), exec_(ctx.exec), host_(x) {
    for (auto const& [name, array] : x.inputs)
      if (auto const* input = std::get_if<npy_array<float>>(&array)) {
        auto const& memory = inputs_.emplace(name, allocate(input->data.size(), "input '" + name + "'")).first->second;
        if (memory) exec_.upload(memory.get(), input->data.data(), input->data.size() * sizeof(float));
      }
    output_ = allocate(result().data.size(), "result");
  }
  placed_operands(placed_operands const&) = delete;
  placed_operands& operator=(placed_operands const&) = delete;

  /// The result, into the operands. Waits for it.
  void fetch() {
    auto& to = result().data;
    if (output_) exec_.download(to.data(), output_.get(), to.size() * sizeof(float));
  }

  view<float const, 3> volume(std::string_view name) const { return {placed(name), host_.volume(name).extents()}; }
  view<float const, 2> cylinders(std::string_view name) const { return {placed(name), host_.cylinders(name).extents()}; }
  std::optional<view<float const, 3>> optional_volume(std::string_view name) const {
    if (!inputs_.contains(name)) return {};
    return volume(name);
  }
  view<float, 3> output_volume() const { return {output_.get(), host_.output_volume().extents()}; }
  view<float, 2> output_cylinders() const { return {output_.get(), host_.output_cylinders().extents()}; }

  view<std::int32_t const, 1> list(std::string_view name) const { return host_.list(name); }
  int integer(std::string_view name) const { return host_.integer(name); }
  bool boolean(std::string_view name) const { return host_.boolean(name); }
  std::string text(std::string_view name) const { return host_.text(name); }
  std::optional<double> number(std::string_view name) const { return host_.number(name); }

  recon_options const& settings;
  denoise_options const& denoiser;
  std::optional<std::array<index_t, 3>> const& recon_shape;
  std::vector<std::string>& warnings;

 private:
  using policy = decltype(Context::exec);
  struct give_back {
    policy exec;
    std::size_t bytes;
    void operator()(float* p) const noexcept { exec.deallocate(p, bytes); }
  };
  using placed_array = std::unique_ptr<float[], give_back>;

  placed_array allocate(std::size_t elements, std::string const& what) const {
    std::size_t const bytes = elements * sizeof(float);
    if (bytes == 0) return {nullptr, give_back{exec_, 0}};
    try {
      return {static_cast<float*>(exec_.allocate(bytes)), give_back{exec_, bytes}};
    } catch (std::bad_alloc const&) {
      throw allocation_error("out of memory: " + std::to_string(bytes) + " bytes for the " + what + exec_.memory_text(), site::current());
    }
  }
  float const* placed(std::string_view name) const { return inputs_.find(name)->second.get(); }
  npy_array<float>& result() const { return std::get<npy_array<float>>(host_.output); }

  policy exec_;
  operands& host_;
  std::map<std::string, placed_array, std::less<>> inputs_;
  placed_array output_{nullptr, give_back{exec_, 0}};
};

}  // namespace mbirk::program
