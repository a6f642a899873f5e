// Measurements: npy files, and HDF5 files of any layout. libhdf5 writes the files, so they are sound and say anything:
// sizes, types, sets that are missing. Files of damaged bytes are its own affair (SECURITY.md).
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "input/measurement.hpp"
#include "mbirk/io/hdf5.hpp"
#include "reader.hpp"

namespace mbirk::fuzz {
namespace {

using program::measurement_files;
using program::measurement_source;

void read_measurement(measurement_files const& files) {
  std::optional<measurement_source> source;
  if (!accepts([&] { source.emplace(files); })) return;
  auto const shape = source->shape();
  double elements = 1;
  for (auto const n : shape) elements *= static_cast<double>(n);
  expect(source->theta().empty() || std::ssize(source->theta()) == shape[0], "not an angle for each view");
  expect(!source->description().empty() && source->block() >= 1 && source->block() <= shape[0], "no block of views");
  if (elements > 1 << 16) return;
  std::vector<float> sinogram(static_cast<std::size_t>(elements));
  context<exec::host, instrument::none> const ctx{exec::host{1}, {}};
  if (!accepts([&] { source->read_all(ctx, sinogram.data()); })) return;
  for (auto const value : sinogram) expect(mbirk::detail::is_finite(value), "a line integral is not finite");
}

void read_measurement_input(std::string_view input) {
  if (input.size() < 2) return;
  auto const length =
      static_cast<std::size_t>(static_cast<unsigned char>(input[0]) | static_cast<unsigned char>(input[1]) << 8);
  auto const arrays = input.substr(2);
  measurement_files files;
  files.input = write_scratch("data.npy", length ? arrays.substr(0, length) : arrays);
  if (length && length < arrays.size()) files.white = write_scratch("white.npy", arrays.substr(length));
  read_measurement(files);
}

using mbirk::detail::hdf5_handle;

/// A type that a data set may have. Most are numbers, the others are no data for a reconstruction.
hdf5_handle type_of(unsigned char kind) {
  hid_t const numbers[] = {H5T_NATIVE_FLOAT,  H5T_NATIVE_DOUBLE, H5T_STD_U8LE,  H5T_STD_I8LE,   H5T_STD_U16LE,
                           H5T_STD_I16BE,     H5T_STD_U32LE,     H5T_STD_I32BE, H5T_STD_U64LE,  H5T_STD_I64LE,
                           H5T_IEEE_F32BE,    H5T_IEEE_F64BE,    H5T_NATIVE_LDOUBLE, H5T_STD_B16LE, H5T_UNIX_D32LE};
  auto const close = [](hid_t id) { return H5Tclose(id); };
  auto const k = kind % 20u;
  if (k < std::size(numbers)) return {H5Tcopy(numbers[k]), close};
  if (k == 15) {
    auto const text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    return {text, close};
  }
  if (k == 16) return {H5Tcreate(H5T_OPAQUE, 3), close};
  if (k == 17) {
    auto const record = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(record, "a", 0, H5T_NATIVE_FLOAT);
    return {record, close};
  }
  if (k == 18) return {H5Tvlen_create(H5T_NATIVE_FLOAT), close};
  hsize_t const two = 2;
  return {H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &two), close};
}

hsize_t size_of(unsigned char code) {
  constexpr hsize_t large[] = {1000,       65536,          (1ull << 31) - 1, 1ull << 31,           1ull << 32,
                               1ull << 40, 1ull << 61,     1ull << 62,       6148914691236517206u, (1ull << 63) - 1,
                               1ull << 63, ~0ull - 1};
  return code < 12 ? code : code < 24 ? large[code - 12] : code % 6u;
}

/// Makes a data set of 16 bytes that describe it; its elements are bytes of the input while they last.
void make_set(hid_t file, char const* name, std::string_view says, std::string_view elements) {
  auto const at = [&](std::size_t k) { return k < says.size() ? static_cast<unsigned char>(says[k]) : 0u; };
  if (at(0) % 2 == 0) return;
  if (at(0) % 16 == 15) {  // a group of that name
    hdf5_handle const group(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    return;
  }
  auto const type = type_of(static_cast<unsigned char>(at(1)));
  int const rank = static_cast<int>(at(2) % 6);
  std::array<hsize_t, 6> sizes{}, chunk{};
  double count = 1;
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    auto const k = static_cast<std::size_t>(d);
    sizes[k] = size_of(static_cast<unsigned char>(at(3 + k % 4)));
    empty = empty || sizes[k] == 0;
    chunk[k] = std::clamp<hsize_t>(sizes[k], 1, 4);
    count *= static_cast<double>(sizes[k]);
  }
  hdf5_handle const space(
      rank ? H5Screate_simple(rank, sizes.data(), nullptr) : H5Screate(at(3) % 2 ? H5S_SCALAR : H5S_NULL), H5Sclose);
  hdf5_handle const how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (at(7) % 2 && rank && !empty) {
    H5Pset_chunk(how.get(), rank, chunk.data());
    if (at(7) % 4 == 3) H5Pset_shuffle(how.get());
  }
  hdf5_handle const set(H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, how.get(), H5P_DEFAULT), H5Dclose);
  if (set.get() < 0) return;
  auto const kind = H5Tget_class(type.get());
  if (count >= 1 && count <= 256 && (kind == H5T_INTEGER || kind == H5T_FLOAT)) {
    std::string bytes(static_cast<std::size_t>(count) * H5Tget_size(type.get()), '\0');
    std::memcpy(bytes.data(), elements.data(), std::min(bytes.size(), elements.size()));
    H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
  }
  constexpr char const* units[] = {"", "rad", "degrees", "radians\n"};
  if (auto const* const unit = units[at(8) % 4]; *unit) {
    hdf5_handle const text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text.get(), std::strlen(unit));
    hdf5_handle const one(H5Screate(H5S_SCALAR), H5Sclose);
    hdf5_handle const attribute(H5Acreate2(set.get(), "units", text.get(), one.get(), H5P_DEFAULT, H5P_DEFAULT),
                                H5Aclose);
    if (attribute.get() >= 0) H5Awrite(attribute.get(), text.get(), unit);
  }
  if (at(9) % 2) {
    hdf5_handle const one(H5Screate(H5S_SCALAR), H5Sclose);
    hdf5_handle const attribute(H5Acreate2(set.get(), "value", type.get(), one.get(), H5P_DEFAULT, H5P_DEFAULT),
                                H5Aclose);
  }
}

void read_hdf5_input(std::string_view input) {
  auto const path = (scratch_folder() / "data.h5").string();
  auto const part = [&](std::size_t first, std::size_t count) {
    return input.substr(std::min(first, input.size()), count);
  };
  H5E_BEGIN_TRY {
    hdf5_handle const file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    expect(file.get() >= 0, "a file cannot be made", path);
    hdf5_handle const group(H5Gcreate2(file.get(), "/exchange", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    std::size_t k = 0;
    for (auto const* const name : {"data", "data_white", "data_dark", "theta"}) {
      make_set(group.get(), name, part(16 * k, 16), part(64 + 8 * k, input.npos));
      ++k;
    }
  }
  H5E_END_TRY
  measurement_files files;
  files.input = path;
  files.counts = !input.empty() && input.back() % 4 == 3;
  read_measurement(files);
  accepts([&] {
    hdf5_file const file(path);
    for (auto const* const name : {"/exchange/data", "/exchange/data_white", "/exchange/theta", "/exchange/none"}) {
      accepts([&] { file.attributes(name); }, path);
      accepts([&] { file.read<float>(name); }, path);
    }
  }, path);
}

}  // namespace

std::vector<reader> hdf5_readers() {
  return {{"measurement", read_measurement_input}, {"hdf5", read_hdf5_input}};
}

}  // namespace mbirk::fuzz
