// Frames from TIFF files: a file of many pages, or many files of one page. Requires libtiff 4.5 or later.
#pragma once

#include <tiffio.h>

#include <cstdarg>
#include <cstdio>
#include <memory>

#include "mbirk/io/frame_stack.hpp"

namespace mbirk {
namespace detail {

/// Open TIFF file that keeps the library's first message instead of printing it.
class tiff_file {
 public:
  explicit tiff_file(std::filesystem::path const& path)
      : path_(path.string()), message_(std::make_unique<std::string>()) {
    require_file(path);
    std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> const options(TIFFOpenOptionsAlloc(),
                                                                                  &TIFFOpenOptionsFree);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), &tiff_file::keep, message_.get());
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), &tiff_file::ignore, nullptr);
    file_.reset(TIFFOpenExt(path_.c_str(), "r", options.get()));
    if (!file_) fail("cannot be read as TIFF");
  }
  TIFF* get() const noexcept { return file_.get(); }
  std::string const& name() const noexcept { return path_; }
  [[noreturn]] void fail(std::string const& what, source_location w = source_location::current()) const {
    scan_fail(path_, what + (message_->empty() ? "" : ": " + *message_), w);
  }
  /// Whether an error was reported since the file was opened.
  bool has_message() const noexcept { return !message_->empty(); }

 private:
  static int keep(TIFF*, void* to, char const*, char const* format, va_list list) {
    auto& message = *static_cast<std::string*>(to);
    if (!message.empty()) return 1;
    char text[200];
    std::vsnprintf(text, sizeof text, format, list);
    message = text;
    return 1;
  }
  static int ignore(TIFF*, void*, char const*, char const*, va_list) { return 1; }
  struct closer {
    void operator()(TIFF* file) const noexcept { TIFFClose(file); }
  };
  std::string path_;
  std::unique_ptr<std::string> message_;  // the library keeps its address
  std::unique_ptr<TIFF, closer> file_;
};

/// Size, type and place of a page.
struct tiff_page {
  std::uint32_t width = 0, height = 0;
  std::string type;
  index_t bytes = 0;
  toff_t offset = 0;
};

/// Bytes that one byte of a compressed file can become at most: deflate reaches 1032, LZW of 12 bits less than 4096.
constexpr double largest_tiff_compression = 4096;

/// Checks the current page. @param bytes  of the file
inline tiff_page tiff_current_page(tiff_file const& file, index_t bytes, index_t page) {
  auto const place = "page " + std::to_string(page + 1);
  tiff_page p;
  std::uint16_t bits = 1, format = SAMPLEFORMAT_UINT, samples = 1, compression = COMPRESSION_NONE;
  if (TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &p.width) != 1 ||
      TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &p.height) != 1)
    file.fail(place + " has no width or no height");
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetFieldDefaulted(file.get(), TIFFTAG_COMPRESSION, &compression);
  if (samples != 1)
    file.fail(place + " has " + std::to_string(samples) + " values per pixel, expected one: a grey image");
  if (!TIFFIsCODECConfigured(compression))
    file.fail(place + " has compression " + std::to_string(compression) +
              ", which this libtiff cannot read, expected none, LZW or deflate (convert with tiffcp -c none)");
  bool const real = format == SAMPLEFORMAT_IEEEFP, is_signed = format == SAMPLEFORMAT_INT;
  bool const known = real ? bits == 32 || bits == 64
                          : (format == SAMPLEFORMAT_UINT || is_signed || format == SAMPLEFORMAT_VOID) &&
                                (bits == 8 || bits == 16 || bits == 32);
  if (!known)
    file.fail(place + " has pixels of " + std::to_string(bits) + " bits in sample format " + std::to_string(format) +
              ", expected integers of 8, 16 or 32 bits or floats of 32 or 64");
  p.type = (real ? "float" : is_signed ? "int" : "uint") + std::to_string(bits);
  p.bytes = bits / 8;
  index_t const needed = frame_bytes(file.name(), {1, p.height, p.width}, p.bytes);
  double const most = static_cast<double>(bytes) * (compression == COMPRESSION_NONE ? 1 : largest_tiff_compression);
  if (static_cast<double>(needed) > most)
    file.fail(place + " is said to have " + std::to_string(p.height) + " x " + std::to_string(p.width) +
              " pixels, which is more than a file of " + std::to_string(bytes) + " bytes can hold");
  p.offset = TIFFCurrentDirOffset(file.get());
  return p;
}

/// Reads rows [first_row, first_row + rows) of the current page, whose blocks are strips or tiles.
inline void tiff_read_rows(tiff_file const& file, tiff_page const& page, index_t first_row, index_t rows, float* to) {
  TIFF* const t = file.get();
  element_type const type{page.type, page.bytes, false};  // the library has swapped bytes
  index_t const width = page.width, end = first_row + rows;
  bool const tiled = TIFFIsTiled(t) != 0;
  std::uint32_t block_width = page.width, block_height = page.height;
  if (tiled) {
    TIFFGetField(t, TIFFTAG_TILEWIDTH, &block_width);
    TIFFGetField(t, TIFFTAG_TILELENGTH, &block_height);
  } else {
    TIFFGetFieldDefaulted(t, TIFFTAG_ROWSPERSTRIP, &block_height);
    block_height = std::min(block_height, page.height);
  }
  if (block_width == 0 || block_height == 0) file.fail("has blocks of no pixels");
  index_t const line = static_cast<index_t>(block_width) * page.bytes;
  index_t const bytes = frame_bytes(file.name(), {1, block_height, block_width}, page.bytes);
  if (bytes != static_cast<index_t>(tiled ? TIFFTileSize64(t) : TIFFVStripSize64(t, block_height)) ||
      bytes > (index_t{1} << 32))
    file.fail("has blocks of " + std::to_string(block_height) + " x " + std::to_string(block_width) +
              " pixels, whose size does not fit their type");
  std::vector<unsigned char> block(static_cast<std::size_t>(bytes));
  index_t const height = block_height;
  for (index_t top = first_row / height * height; top < end; top += height)
    for (index_t left = 0; left < width; left += block_width) {
      auto const x = static_cast<std::uint32_t>(left), y = static_cast<std::uint32_t>(top);
      index_t const lines = tiled ? height : std::min<index_t>(height, page.height - top);
      auto const size = static_cast<tmsize_t>(lines * line);
      auto const read = tiled ? TIFFReadEncodedTile(t, TIFFComputeTile(t, x, y, 0, 0), block.data(), size)
                              : TIFFReadEncodedStrip(t, TIFFComputeStrip(t, y, 0), block.data(), size);
      if (read != size) file.fail("pixels cannot be read, the file is damaged or truncated");
      index_t const columns = std::min<index_t>(block_width, width - left);
      for (index_t row = std::max(top, first_row); row < std::min(end, top + lines); ++row)
        convert_elements(type, block.data() + (row - top) * line, columns, to + (row - first_row) * width + left);
    }
}

}  // namespace detail

/// Opens all pages of a file, one frame each; thumbnails are left out. Pages are 8, 16 or 32 bit integers or floats, in
/// strips or tiles, with any compression that libtiff knows; BigTIFF too.
/// @throws io_error when pages differ in size or type, or hold anything but one value per pixel
inline frame_stack open_tiff(std::filesystem::path const& path) {
  index_t const bytes = detail::file_bytes(path);
  detail::tiff_file const file(path);
  std::vector<detail::tiff_page> pages;
  index_t at = 0;
  do {
    std::uint32_t kind = 0;
    TIFFGetField(file.get(), TIFFTAG_SUBFILETYPE, &kind);
    if ((kind & FILETYPE_REDUCEDIMAGE) == 0) pages.push_back(detail::tiff_current_page(file, bytes, at));
    ++at;
  } while (TIFFReadDirectory(file.get()) == 1);
  if (file.has_message()) file.fail("page " + std::to_string(at + 1) + " cannot be read");
  if (pages.empty()) file.fail("has no page, expected at least one");
  auto const& first = pages.front();
  for (std::size_t k = 1; k < pages.size(); ++k)
    if (pages[k].width != first.width || pages[k].height != first.height || pages[k].type != first.type)
      file.fail("page " + std::to_string(k + 1) + " has " + std::to_string(pages[k].height) + " x " +
                std::to_string(pages[k].width) + " pixels of " + pages[k].type +
                ", expected those of the first page, " + std::to_string(first.height) + " x " +
                std::to_string(first.width) + " of " + first.type);
  frame_stack stack{path.string(), {static_cast<index_t>(pages.size()), first.height, first.width}, first.type, {},
                    {path.string()}};
  stack.read_window = [path, pages](frame_window const& w, float* to) {
    detail::tiff_file const again(path);
    for (index_t f = 0; f < w.count; ++f) {
      auto const& page = pages[static_cast<std::size_t>(w.first + f)];
      if (TIFFSetSubDirectory(again.get(), page.offset) != 1)
        again.fail("page " + std::to_string(w.first + f + 1) + " cannot be read");
      detail::tiff_read_rows(again, page, w.first_row, w.rows, to + f * w.rows * page.width);
    }
  };
  return stack;
}

/// Opens files, each with one or more pages, as one stack in the given order.
/// @throws io_error naming the first file whose frames differ from those of the first
inline frame_stack open_tiffs(std::string const& name, std::vector<std::filesystem::path> const& paths) {
  if (paths.size() == 1) return open_tiff(paths.front());
  std::vector<frame_stack> parts;
  for (auto const& path : paths) parts.push_back(open_tiff(path));
  return detail::joined_stack(name, std::move(parts));
}

}  // namespace mbirk
