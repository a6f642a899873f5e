// Scans as scanners write them. libtiff, matio and libgsf parse the containers; what they hand over is checked by
// mbirk.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "mbirk/io/npy.hpp"
#include "mbirk/io/scan_mrc.hpp"
#include "mbirk/io/scan_raw.hpp"
#if defined(MBIRK_WITH_TIFF)
#include "mbirk/io/scan_vendor.hpp"
#endif
#if defined(MBIRK_WITH_MATIO)
#include "mbirk/io/scan_matlab.hpp"
#endif
#if defined(MBIRK_WITH_GSF)
#include "mbirk/io/scan_zeiss.hpp"
#endif
#include "reader.hpp"

namespace mbirk::fuzz {
namespace {

/// Reads the frames at once and one by one, which must give the same pixels.
void read_frames(frame_stack const& stack, std::string const& file) {
  auto const& s = stack.shape;
  double pixels = 1;
  for (auto const n : s) {
    expect(n >= 1, "a stack without frames");
    pixels *= static_cast<double>(n);
  }
  if (pixels > 1 << 16) return;
  std::vector<float> all(static_cast<std::size_t>(pixels)), part(all.size());
  if (!accepts([&] { stack.read(0, s[0], all.data()); }, file)) return;
  index_t const row = s[1] / 2, rows = s[1] - row;
  bool const read = accepts([&] {
    for (index_t f = 0; f < s[0]; ++f) {
      auto* const to = part.data() + f * s[1] * s[2];
      if (row > 0) stack.read({f, 1, 0, row}, to);
      stack.read({f, 1, row, rows}, to + row * s[2]);
    }
  }, file);
  if (read)
    expect(std::memcmp(all.data(), part.data(), all.size() * sizeof(float)) == 0, "a window differs from the stack",
           file);
}
void read_description(scan_description const& scan, std::string const& file) {
  expect(scan.angles.empty() || std::ssize(scan.angles) == scan.data.shape[0], "not an angle for each view", file);
  for (auto const& warning : scan.warnings) expect_message(warning, {});
  read_frames(scan.data, file);
  if (scan.white) read_frames(*scan.white, file);
  if (scan.dark) read_frames(*scan.dark, file);
}

/// A first line that is the layout, then the file.
void read_raw_input(std::string_view input) {
  auto const end = std::min(input.find('\n'), input.size());
  auto const path = write_scratch("input.raw", input.substr(std::min(end + 1, input.size())));
  std::optional<raw_layout> layout;
  if (!accepts([&] { layout = parse_raw_layout(input.substr(0, end), "--raw"); }, "--raw")) return;
  accepts([&] { read_frames(open_raw(path, *layout), path.string()); }, path.string());
  accepts([&] { read_frames(open_raw_frames(path, *layout), path.string()); }, path.string());
}

/// A first line of tilts, then the file; without tilts if the line is empty.
void read_mrc_input(std::string_view input) {
  auto const end = std::min(input.find('\n'), input.size());
  auto const path = write_scratch("input.mrc", input.substr(std::min(end + 1, input.size())));
  auto const tilts = scratch_folder() / "input.rawtlt";
  if (end > 0) write_scratch("input.rawtlt", input.substr(0, end));
  else std::filesystem::remove(tilts);
  accepts([&] { read_description(open_mrc(path), path.string()); }, (scratch_folder() / "input.").string());
}

#if defined(MBIRK_WITH_TIFF)
void read_tiff_input(std::string_view input) {
  auto const path = write_scratch("input.tif", input);
  accepts([&] { read_frames(open_tiff(path), path.string()); }, path.string());
}

/// Descriptions lie beside four frames of 3 x 5 pixels.
void read_described(std::string_view input, char const* extension) {
  static bool const once = [] {
    std::filesystem::create_directory(scratch_folder() / "scan");
    for (int k = 0; k < 4; ++k) {
      auto const path = (scratch_folder() / "scan" / ("a_" + std::to_string(k) + ".tif")).string();
      TIFF* const file = TIFFOpen(path.c_str(), "w");
      expect(file != nullptr, "a frame cannot be made", path);
      TIFFSetField(file, TIFFTAG_IMAGEWIDTH, 5);
      TIFFSetField(file, TIFFTAG_IMAGELENGTH, 3);
      TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
      TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
      TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, 3);
      TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
      std::uint16_t row[5] = {1, 2, 3, 4, 5};
      for (std::uint32_t r = 0; r < 3; ++r) TIFFWriteScanline(file, row, r);
      TIFFClose(file);
    }
    return true;
  }();
  static_cast<void>(once);
  auto const path = write_scratch(std::string("scan/a") + extension, input);
  for (bool const repeat : {false, true})
    accepts([&] { read_description(open_described(path, repeat), path.string()); },
            (scratch_folder() / "scan").string());
  std::filesystem::remove(path);
}
void read_nikon_input(std::string_view input) { read_described(input, ".xtekct"); }
void read_skyscan_input(std::string_view input) { read_described(input, ".log"); }
void read_north_star_input(std::string_view input) { read_described(input, ".nsipro"); }
#endif

#if defined(MBIRK_WITH_MATIO)
/// Reads the file, and the same array compressed, whose checksum mutations would destroy.
void read_matlab_input(std::string_view input) {
  auto const path = write_scratch("input.mat", input);
  accepts([&] { read_frames(open_matlab(path), path.string()); }, path.string());
  if (input.size() <= 136 || input.substr(124, 2) != std::string_view("\0\1", 2)) return;
  auto const* const array = reinterpret_cast<Bytef const*>(input.data()) + 128;
  auto const bytes = static_cast<uLong>(input.size() - 128);
  std::vector<Bytef> packed(compressBound(bytes));
  auto count = static_cast<uLongf>(packed.size());
  expect(compress2(packed.data(), &count, array, bytes, 1) == Z_OK, "an array cannot be compressed");
  std::uint32_t const tag[] = {15, static_cast<std::uint32_t>(count)};
  std::string file(input.substr(0, 128));
  file.append(reinterpret_cast<char const*>(tag), sizeof(tag)).append(packed.begin(), packed.begin() + count);
  write_scratch("input.mat", file);
  accepts([&] { read_frames(open_matlab(path), path.string()); }, path.string());
}
#endif

#if defined(MBIRK_WITH_GSF)
void read_zeiss_input(std::string_view input) {
  auto const path = write_scratch("input.txrm", input);
  accepts([&] { read_description(open_zeiss(path), path.string()); }, path.string());
}
#endif

}  // namespace

std::vector<reader> scan_readers() {
  std::vector<reader> all{{"raw", read_raw_input}, {"mrc", read_mrc_input}};
#if defined(MBIRK_WITH_TIFF)
  all.push_back({"tiff", read_tiff_input});
  all.push_back({"nikon", read_nikon_input});
  all.push_back({"skyscan", read_skyscan_input});
  all.push_back({"north_star", read_north_star_input});
#endif
#if defined(MBIRK_WITH_MATIO)
  all.push_back({"matlab", read_matlab_input});
#endif
#if defined(MBIRK_WITH_GSF)
  all.push_back({"zeiss", read_zeiss_input});
#endif
  return all;
}

}  // namespace mbirk::fuzz
