#include "commands/slab_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "commands/interrupt.hpp"
#include "mbirk/io/checkpoint.hpp"
#include "mbirk/io/input_file.hpp"

namespace mbirk::program {
namespace {

/// A slot that neither of the lists has.
index_t free_slot(std::vector<slab_place> const& a, std::vector<slab_place> const& b) {
  for (index_t slot = 0;; ++slot) {
    auto const has = [&](slab_place const& p) { return p.slot == slot; };
    if (std::ranges::none_of(a, has) && std::ranges::none_of(b, has)) return slot;
  }
}

}  // namespace

slab_store::slab_store(std::string path, std::array<index_t, 3> const& recon_shape, index_t slices)
    : path_(std::move(path)),
      slices_(slices),
      all_slices_(recon_shape[2]),
      pixels_(recon_shape[0] * recon_shape[1]),
      slot_bytes_(std::min(slices, all_slices_) * pixels_ * static_cast<index_t>(sizeof(float))) {
  for (index_t slab = 0; slab < ceil_div(all_slices_, slices); ++slab) now_.push_back({slab, {}});
  unnamed_.emplace(path_);
}

slab_store::~slab_store() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

index_t slab_store::slab_bytes(std::size_t slab) const {
  auto const first = static_cast<index_t>(slab) * slices_;
  return std::min(slices_, all_slices_ - first) * pixels_ * static_cast<index_t>(sizeof(float));
}

void slab_store::read(index_t first, view<float, 3> to) {
  auto const& place = now_[static_cast<std::size_t>(first / slices_)];
  read_at(offset(place.slot), to.data(), static_cast<std::size_t>(to.size()) * sizeof(float));
}

void slab_store::write(index_t first, view<float const, 3> from) {
  auto const slab = static_cast<std::size_t>(first / slices_);
  auto& place = now_[slab];
  if (!kept_.empty() && kept_[slab].slot == place.slot) place.slot = free_slot(now_, kept_);
  auto const bytes = static_cast<std::size_t>(from.size()) * sizeof(float);
  place.slices = data_sum(from.data(), bytes);
  write_at(offset(place.slot), from.data(), bytes);
}

void slab_store::check_data(index_t first, std::string const& sum, std::string const& resumed) {
  auto& there = now_[static_cast<std::size_t>(first / slices_)].data;
  if (there.empty()) there = sum;
  require<io_error>(there == sum, [&] {
    return resumed + ": was made from other data: the line integrals of the rows from " + std::to_string(first) +
           " on had " + printable(there, 40) + " there and have " + sum + " here";
  });
}

void slab_store::save() {
  if (!unnamed_) {
    auto const code = mbirk::detail::synced(descriptor_);
    require<io_error>(!code, [&] { return path_ + ": cannot be written: " + code.message(); });
    return;
  }
  unnamed_->commit();
  unnamed_.reset();
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot be opened again");
}

void slab_store::copy(std::string const& from, saved_slabs const& saved) {
  auto file = mbirk::detail::open_input(from);
  std::vector<char> block(std::size_t{1} << 20);
  for (std::size_t slab = 0; slab < now_.size(); ++slab) {
    now_[slab] = saved.places[slab];
    mbirk::detail::crc32 sum;
    auto const begin = offset(now_[slab].slot);
    file.clear();
    file.seekg(begin);
    for (index_t at = 0, all = slab_bytes(slab); at < all;) {
      stop_if_asked();
      auto const bytes = std::min(all - at, std::ssize(block));
      require<io_error>(static_cast<bool>(file.read(block.data(), bytes)),
                        [&] { return from + ": is truncated, expected the slices of the state"; });
      auto const size = static_cast<std::size_t>(bytes);
      sum.add(block.data(), size);
      write_at(begin + at, block.data(), size);
      at += bytes;
    }
    require<io_error>(sum_text(sum) == now_[slab].slices, [&] {
      return from + ": is damaged, or belongs to another state: its slab " + std::to_string(slab) + " has " +
             sum_text(sum) + ", expected " + printable(now_[slab].slices, 40);
    });
  }
  keep();
}

void slab_store::write_at(index_t offset, void const* data, std::size_t bytes) {
  if (unnamed_) return unnamed_->write_at(offset, data, bytes);
  transfer(::pwrite, offset, static_cast<char const*>(data), bytes, "cannot be written");
}

void slab_store::read_at(index_t offset, void* data, std::size_t bytes) {
  if (unnamed_) return unnamed_->read_at(offset, data, bytes);
  transfer(::pread, offset, static_cast<char*>(data), bytes, "cannot be read back");
}

template <class Call, class Byte>
void slab_store::transfer(Call call, index_t offset, Byte* data, std::size_t bytes, char const* failure) {
  while (bytes > 0) {
    errno = 0;
    auto const done = call(descriptor_, data, bytes, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail(failure);
    data += done;
    offset += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void slab_store::fail(char const* what) const {
  throw io_error(path_ + ": " + what + ": " + mbirk::detail::system_error_code().message(), source_location::current());
}

}  // namespace mbirk::program
