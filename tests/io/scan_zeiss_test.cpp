#include "mbirk/io/scan_zeiss.hpp"

#include <gsf/gsf-outfile-msole.h>
#include <gsf/gsf-output-stdio.h>
#include <gtest/gtest.h>

#include "io/scratch_folder.hpp"

namespace mbirk {
namespace {

struct ScanZeiss : testing::Test {
  test::scratch_folder folder;
  std::string name(char const* file) const { return (folder / file).string(); }
  std::vector<std::uint16_t> counts;
  ScanZeiss() {
    for (int i = 0; i < 3 * 2 * 40; ++i) counts.push_back(static_cast<std::uint16_t>(3 * i));
  }

  template <class T> static void add(GsfOutfile* folder, char const* stream, std::vector<T> const& values) {
    GsfOutput* const out = gsf_outfile_new_child(folder, stream, FALSE);
    gsf_output_write(out, values.size() * sizeof(T), reinterpret_cast<guint8 const*>(values.data()));
    gsf_output_close(out);
    g_object_unref(out);
  }
  void write(char const* file, std::int32_t views, float source, std::int32_t type = 5) const {
    GsfOutput* const stdio = gsf_output_stdio_new(name(file).c_str(), nullptr);
    GsfOutfile* const root = gsf_outfile_msole_new(stdio);
    g_object_unref(stdio);
    auto* const info = GSF_OUTFILE(gsf_outfile_new_child(root, "ImageInfo", TRUE));
    add<std::int32_t>(info, "ImagesTaken", {views});
    add<std::int32_t>(info, "ImageHeight", {2});
    add<std::int32_t>(info, "ImageWidth", {40});
    add<std::int32_t>(info, "DataType", {type});
    add<float>(info, "Angles", {0, 90, 180});
    add<float>(info, "StoRADistance", {-source, -source, -source});
    add<float>(info, "DtoRADistance", {30, 30, 30});
    add<float>(info, "PixelSize", {5});
    gsf_output_close(GSF_OUTPUT(info));
    g_object_unref(info);
    auto* const data = GSF_OUTFILE(gsf_outfile_new_child(root, "ImageData1", TRUE));
    for (int v = 0; v < 3; ++v)
      add(data, ("Image" + std::to_string(v + 1)).c_str(),
          std::vector<std::uint16_t>(counts.begin() + v * 80, counts.begin() + (v + 1) * 80));
    gsf_output_close(GSF_OUTPUT(data));
    g_object_unref(data);
    gsf_output_close(GSF_OUTPUT(root));
    g_object_unref(root);
  }
  template <class Call> static std::string error_of(Call const& call) {
    try {
      call();
    } catch (io_error const& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(ScanZeiss, FramesAnglesAndDistances) {
  write("a.txrm", 3, 10);
  auto const scan = open_zeiss(name("a.txrm"));
  EXPECT_EQ(scan.data.shape, (std::array<index_t, 3>{3, 2, 40}));
  std::vector<float> y(240);
  scan.data.read(0, 3, y.data());
  EXPECT_EQ(y, std::vector<float>(counts.begin(), counts.end()));
  EXPECT_DOUBLE_EQ(scan.angles[1], std::numbers::pi / 2);
  EXPECT_EQ(*scan.source_detector_dist, 40);
  EXPECT_EQ(*scan.source_iso_dist, 10);
  EXPECT_DOUBLE_EQ(*scan.delta_det_channel, 0.02);  // 5 um, magnified four times
}

TEST_F(ScanZeiss, WhatIsWrong) {
  write("many.txrm", 1 << 20, 10);
  EXPECT_NE(error_of([&] { open_zeiss(name("many.txrm")); }).find("is truncated"), std::string::npos);
  write("four.txrm", 4, 10);
  EXPECT_NE(
      error_of([&] { open_zeiss(name("four.txrm")); }).find("ImageInfo/Angles has 12 bytes, expected at least 16"),
      std::string::npos);
  write("type.txrm", 3, 10, 7);
  EXPECT_NE(error_of([&] { open_zeiss(name("type.txrm")); }).find("ImageInfo/DataType is 7, expected 3, 5 or 10"),
            std::string::npos);
  write("b.txrm", 3, 10);
  auto const text = test::file_text(name("b.txrm"));
  for (std::size_t n : {0u, 100u, 600u}) {
    test::write_text(folder / "cut.txrm", text.substr(0, n));
    EXPECT_NE(error_of([&] { open_zeiss(name("cut.txrm")); }), "nothing was thrown") << n;
  }
}

TEST_F(ScanZeiss, DamagedFilesPrintNothing) {
  write("a.txrm", 3, 10);
  auto const text = test::file_text(name("a.txrm"));
  int refused = 0;
  testing::internal::CaptureStderr();
  // Entries of a folder of streams have 128 bytes; at 116 is where the stream begins.
  for (std::size_t at = 116; at + 4 <= text.size(); at += 128) {
    auto damaged = text;
    damaged.replace(at, 4, "\x11\x22\x33\x44");
    test::write_text(folder / "damaged.txrm", damaged);
    refused += error_of([&] { open_zeiss(name("damaged.txrm")); }) != "nothing was thrown";
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace mbirk
