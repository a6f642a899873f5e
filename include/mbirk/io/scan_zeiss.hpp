// Scans of Zeiss Xradia microscopes, .txrm and .xrm: OLE2 compound files. Requires libgsf.
#pragma once

#include <gsf/gsf-infile-msole.h>
#include <gsf/gsf-infile.h>
#include <gsf/gsf-input-stdio.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numbers>

#include "mbirk/io/scan_raw.hpp"
#include "mbirk/io/scan_text.hpp"

namespace mbirk {
namespace detail {

struct object_releaser {
  void operator()(void* object) const noexcept { g_object_unref(object); }
};
template <class T> using object_handle = std::unique_ptr<T, object_releaser>;

/// Keeps libgsf from printing what it finds wrong in a file, for the life of this object.
class quiet_gsf {
 public:
  quiet_gsf() {
    for (std::size_t k = 0; k < ids_.size(); ++k)
      ids_[k] = g_log_set_handler(domains[k], static_cast<GLogLevelFlags>(G_LOG_LEVEL_MASK | G_LOG_FLAG_RECURSION),
                                  [](char const*, GLogLevelFlags, char const*, void*) noexcept {}, nullptr);
  }
  ~quiet_gsf() {
    for (std::size_t k = 0; k < ids_.size(); ++k) g_log_remove_handler(domains[k], ids_[k]);
  }
  quiet_gsf(quiet_gsf const&) = delete;
  quiet_gsf& operator=(quiet_gsf const&) = delete;

 private:
  // libgsf reports children that it cannot read without a domain.
  static constexpr std::array<char const*, 3> domains{"libgsf", "libgsf:msole", nullptr};
  std::array<guint, 3> ids_{};
};

/// Compound file: streams with paths such as "ImageInfo/Angles".
class compound_file {
 public:
  explicit compound_file(std::filesystem::path const& path) : path_(path.string()) {
    require_file(path);
    GError* error = nullptr;
    object_handle<GsfInput> const file(gsf_input_stdio_new(path_.c_str(), &error));
    if (file) root_.reset(gsf_infile_msole_new(file.get(), &error));
    std::string const reason = error && error->message ? error->message : "";
    g_clear_error(&error);
    if (!root_) scan_fail(path_, "cannot be read as an OLE2 file" + (reason.empty() ? "" : ": " + reason));
  }
  std::string const& name() const noexcept { return path_; }

  bool has(std::string const& stream) const { return static_cast<bool>(find(stream)); }
  index_t size(std::string const& stream) const { return gsf_input_size(open(stream).get()); }
  /// Reads `count` bytes from the start. @throws io_error when the stream is missing or shorter
  std::vector<unsigned char> read(std::string const& stream, index_t count) const {
    auto const input = open(stream);
    index_t const found = gsf_input_size(input.get());
    if (found < count)
      scan_fail(path_, stream + " has " + std::to_string(found) + " bytes, expected at least " + std::to_string(count));
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
    if (count > 0 && !gsf_input_read(input.get(), static_cast<std::size_t>(count), bytes.data()))
      scan_fail(path_, stream + " cannot be read, the file is damaged or truncated");
    return bytes;
  }
  template <class T> std::vector<T> values(std::string const& stream, index_t count) const {
    auto const bytes = read(stream, count * static_cast<index_t>(sizeof(T)));
    std::vector<T> all(static_cast<std::size_t>(count));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
  index_t integer(std::string const& stream) const { return values<std::int32_t>(stream, 1)[0]; }

 private:
  object_handle<GsfInput> find(std::string const& stream) const {
    std::vector<std::string> parts = split_text(stream, '/');
    object_handle<GsfInput> at;
    for (auto const& part : parts) {
      GsfInfile* const folder = at ? (GSF_IS_INFILE(at.get()) ? GSF_INFILE(at.get()) : nullptr) : root_.get();
      if (!folder) return {};
      at.reset(gsf_infile_child_by_name(folder, part.c_str()));
      if (!at) return {};
    }
    return at;
  }
  object_handle<GsfInput> open(std::string const& stream) const {
    auto input = find(stream);
    if (!input) scan_fail(path_, "has no stream " + stream + ", expected a Zeiss .txrm or .xrm file");
    return input;
  }

  quiet_gsf quiet_;
  std::string path_;
  object_handle<GsfInfile> root_;
};

inline element_type zeiss_type(index_t code, std::string const& name, char const* stream) {
  if (code == 3) return {"uint8", 1, false};
  if (code == 5) return {"uint16", 2, false};
  if (code == 10) return {"float32", 4, false};
  scan_fail(name,
            std::string(stream) + " is " + std::to_string(code) + ", expected 3, 5 or 10 (uint8, uint16, float32)");
}

/// Frames ImageData<1 + v/100>/Image<v + 1>, or one stream.
inline frame_stack zeiss_stack(std::string const& path, std::array<index_t, 3> const& shape, element_type const& type,
                               std::string const& single = {}) {
  frame_stack stack{path + (single.empty() ? "" : ": " + single), shape, type.name, {}, {path}};
  stack.read_window = [path, shape, type, single](frame_window const& w, float* to) {
    compound_file const file(path);
    index_t const pixels = shape[1] * shape[2];
    for (index_t f = 0; f < w.count; ++f) {
      index_t const view = w.first + f;
      auto const stream =
          single.empty() ? "ImageData" + std::to_string(1 + view / 100) + "/Image" + std::to_string(view + 1) : single;
      auto const bytes = file.read(stream, pixels * type.bytes);
      convert_elements(type, bytes.data() + w.first_row * shape[2] * type.bytes, w.rows * shape[2],
                       to + f * w.rows * shape[2]);
    }
  };
  return stack;
}

}  // namespace detail

/// Opens a scan: frames, angles (degrees), distances (mm), pixel size at the object (um), and the reference image if
/// there is one. Distances of 1 stand for ones that were not recorded: the beam is then taken as parallel.
/// Source of the streams' names: dxchange (De Carlo et al. 2014) and olefile listings.
/// @throws io_error
inline scan_description open_zeiss(std::filesystem::path const& path) {
  detail::compound_file const file(path);
  std::string const name = path.string();
  scan_description scan;
  scan.format = "Zeiss";
  scan.unit = "mm";
  std::array<index_t, 3> const shape{file.integer(file.has("ImageInfo/ImagesTaken") ? "ImageInfo/ImagesTaken"
                                                                                    : "ImageInfo/NoOfImages"),
                                     file.integer("ImageInfo/ImageHeight"), file.integer("ImageInfo/ImageWidth")};
  auto const type = detail::zeiss_type(file.integer("ImageInfo/DataType"), name, "ImageInfo/DataType");
  index_t const needed = detail::frame_bytes(name, shape, type.bytes), found = detail::file_bytes(path);
  if (needed > found)
    detail::scan_fail(name, "is truncated: " + detail::shape_text(shape) + " of " + type.name + " needs " +
                                std::to_string(needed) + " bytes, the file has " + std::to_string(found));
  scan.data = detail::zeiss_stack(name, shape, type);
  scan.facts.push_back({"data", detail::shape_text(shape) + " " + type.name, "ImageData"});
  for (auto const a : file.values<float>("ImageInfo/Angles", shape[0])) {
    if (!std::isfinite(a))
      detail::scan_fail(name, "ImageInfo/Angles: value (" + std::to_string(scan.angles.size()) + ") is " +
                                  detail::number_text(static_cast<double>(a)) + ", expected finite angles");
    scan.angles.push_back(static_cast<double>(a) * std::numbers::pi / 180);
  }
  scan.facts.push_back({"angles", std::to_string(shape[0]) + " in degrees", "ImageInfo/Angles"});

  auto const length = [&](char const* stream) {
    return file.has(stream) ? std::abs(static_cast<double>(file.values<float>(stream, 1)[0])) : 0.0;
  };
  double const source = length("ImageInfo/StoRADistance"), detector = length("ImageInfo/DtoRADistance");
  double const pixel = length("ImageInfo/PixelSize") / 1000;
  double magnification = 1;
  using d = scan_description;
  if (std::isfinite(source + detector) && source > 0 && detector > 0 && !(source == 1 && detector == 1)) {
    magnification = (source + detector) / source;
    detail::set_length(scan, &d::source_detector_dist, "source_detector_dist", source + detector,
                       "ImageInfo/StoRADistance + DtoRADistance");
    detail::set_length(scan, &d::source_iso_dist, "source_iso_dist", source, "ImageInfo/StoRADistance");
  } else {
    scan.warnings.push_back(
        name + ": ImageInfo/StoRADistance and DtoRADistance are " + detail::number_text(source) + " and " +
        detail::number_text(detector) +
        ": not recorded, the beam is taken as parallel (--source-detector and --source-iso make it a cone)");
  }
  if (std::isfinite(pixel) && pixel > 0) {
    detail::set_length(scan, &d::delta_det_channel, "delta_det_channel", pixel * magnification, "ImageInfo/PixelSize");
    scan.delta_det_row = scan.delta_det_channel;
  }
  if (file.has("ReferenceData/Image")) {
    auto const reference_type =
        file.has("ReferenceData/DataType")
            ? detail::zeiss_type(file.integer("ReferenceData/DataType"), name, "ReferenceData/DataType")
            : type;
    if (file.size("ReferenceData/Image") >= shape[1] * shape[2] * reference_type.bytes) {
      scan.white = detail::zeiss_stack(name, {1, shape[1], shape[2]}, reference_type, "ReferenceData/Image");
      scan.facts.push_back({"white field", "1 frame", "ReferenceData/Image"});
    } else {
      scan.warnings.push_back(name + ": ReferenceData/Image is smaller than a view and is not used");
    }
  }
  return scan;
}

}  // namespace mbirk
