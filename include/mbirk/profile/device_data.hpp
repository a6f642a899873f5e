// Capabilities of devices, each number with its source. This is the only place in the project that holds such numbers;
// docs/fpga.md prints them.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mbirk::profile::fpga {

/// Reliability of a number.
enum class mark : char {
  read = 'n',        ///< read in the named source
  recalled = 'R',    ///< recalled from the named document, not checked again
  assumed = 'A',     ///< an assumption, to be replaced by a measurement
  measured = 'm',    ///< measured by us, or on this machine
};
struct sourced {
  double value = 0;
  fpga::mark mark = mark::assumed;
  std::string source = "assumption";
};

enum class device_kind { fpga, gpu, cpu };

/// A number is zero if it has no meaning for the kind. Rates are per second, sizes in bytes, powers in watts.
struct device {
  std::string name;
  device_kind kind = device_kind::fpga;
  sourced memory_rate{}, memory_usable{};       ///< off-chip memory: rate, and the share of it that streams reach
  sourced upload_rate{}, download_rate{};       ///< from and to the host
  sourced buffer_seconds{};                     ///< fixed time per transferred buffer
  sourced launch_seconds{};
  sourced watts{}, idle_watts{}, max_watts{};   ///< under load; while only transferring; board limit
  sourced flops{}, cache_bytes{};               ///< GPU, CPU: float32 rate; capacity of the last-level cache
  sourced clock{}, dsp{}, lut{}, bram36{}, uram{};         ///< FPGA
  sourced f32_add_dsp{}, f32_mul_dsp{}, f32_fma_dsp{};     ///< DSP blocks per float32 operation
};

/// Names of a device's numbers in files.
using device_number = sourced device::*;
struct device_field {
  std::string_view name;
  device_number number;
};
inline constexpr std::array<device_field, 19> device_fields{{{"memory bytes per second", &device::memory_rate},
                                                             {"memory usable", &device::memory_usable},
                                                             {"upload bytes per second", &device::upload_rate},
                                                             {"download bytes per second", &device::download_rate},
                                                             {"buffer seconds", &device::buffer_seconds},
                                                             {"launch seconds", &device::launch_seconds},
                                                             {"watts", &device::watts},
                                                             {"idle watts", &device::idle_watts},
                                                             {"max watts", &device::max_watts},
                                                             {"flops per second", &device::flops},
                                                             {"cache bytes", &device::cache_bytes},
                                                             {"clock", &device::clock},
                                                             {"dsp", &device::dsp},
                                                             {"lut", &device::lut},
                                                             {"bram36", &device::bram36},
                                                             {"uram", &device::uram},
                                                             {"f32 add dsp", &device::f32_add_dsp},
                                                             {"f32 mul dsp", &device::f32_mul_dsp},
                                                             {"f32 fma dsp", &device::f32_fma_dsp}}};

/// The numbers that have a meaning for this device.
inline std::vector<std::pair<std::string_view, sourced>> numbers_of(device const& d) {
  std::vector<std::pair<std::string_view, sourced>> all;
  for (auto const& f : device_fields)
    if ((d.*f.number).value != 0) all.emplace_back(f.name, d.*f.number);
  return all;
}

namespace device_data {

inline sourced read(double x, std::string source) { return {x, mark::read, std::move(source)}; }
inline sourced recalled(double x, std::string source) { return {x, mark::recalled, std::move(source)}; }
inline sourced assumed(double x, std::string source = "assumption") { return {x, mark::assumed, std::move(source)}; }

inline device gpu(std::string name, sourced flops, sourced cache, sourced memory, sourced watts, sourced idle,
                  sourced most) {
  device d{.name = std::move(name), .kind = device_kind::gpu};
  d.flops = flops;
  d.cache_bytes = cache;
  d.memory_rate = memory;
  d.watts = watts;
  d.idle_watts = idle;
  d.max_watts = most;
  d.memory_usable = assumed(0.85);
  d.upload_rate = d.download_rate = assumed(5.0e10, "of 63e9 raw bytes per second of PCIe 5 x16");
  d.buffer_seconds = assumed(1e-5);
  d.launch_seconds = assumed(4e-6);
  return d;
}
inline device h200() {
  auto const sheet = "NVIDIA H200 SXM data sheet";
  return gpu("H200", recalled(6.69e13, sheet), recalled(5e7, sheet), recalled(4.8e12, sheet), assumed(500),
             assumed(120), read(700, "MLCommons inference v4.1, system H200-SXM-141GB"));
}
inline device h100() {
  auto const sheet = "NVIDIA H100 SXM data sheet";
  return gpu("H100", recalled(6.69e13, sheet), recalled(5e7, sheet), recalled(3.35e12, sheet), assumed(500),
             assumed(120), recalled(700, sheet));
}
inline device rtx_5080() {
  auto const page = "notebookcheck.net, RTX 5080";
  return gpu("RTX 5080", read(5.63e13, page), read(6.4e7, "techpowerup.com, review of the RTX 5080"),
             read(9.6e11, page), assumed(250, "0.7 of its limit, as the H200"), assumed(60), read(360, page));
}

inline device fpga(std::string name) {
  device d{.name = std::move(name), .kind = device_kind::fpga};
  d.memory_usable =
      assumed(0.8, "streams; the best case measured on HBM is 425 of 460 (Wang et al., Shuhai, arXiv:2005.04324)");
  d.buffer_seconds =
      read(1.4e-5, "4 KiB at 0.30e9 bytes per second: Vitis_Accel_Examples, host_global_bandwidth, log of a U200");
  d.launch_seconds =
      read(3e-6, "359 000 starts per second when many are queued: Vitis_Accel_Examples, iops_test_xrt, log of a U250");
  return d;
}
inline device alveo_u280() {
  auto const table = "public table of UltraScale+ devices (XCU280); primary: AMD DS963",
             log = "Vitis_Accel_Examples, host_global_bandwidth, log of a U200";
  auto const library = "HLS floating-point cores, 'full dsp' and 'max dsp'";
  device d = fpga("Alveo U280");
  d.clock =
      assumed(3e8, "published CT designs ran at 50 to 220 MHz; data sheet limit of a DSP48E2 775 MHz (AMD DS923)");
  d.dsp = read(9024, table);
  d.lut = read(1303680, table);
  d.bram36 = read(2016, table);
  d.uram = read(960, table);
  d.f32_add_dsp = recalled(2, library);
  d.f32_mul_dsp = recalled(3, library);
  d.f32_fma_dsp = recalled(5, library);
  d.memory_rate = read(4.6e11, "HBM2: Wang et al., Shuhai, arXiv:2005.04324");
  d.upload_rate = read(7.5e9, log);
  d.download_rate = read(1.21e10, log);
  d.watts = assumed(70, "45 to 110; a kernel on an HBM Alveo card had a budget of 45 W (Chi et al., FPGA 2022)");
  d.idle_watts = assumed(40);
  d.max_watts = recalled(225, "AMD DS963");
  return d;
}
inline device versal_vck190() {
  auto const sheet = "AMD VCK190 data sheet", block = "AMD AM004, DSPFP32";
  // Its 400 AI engines are not modelled: they require vectors and regular access windows.
  device d = fpga("Versal VCK190");
  d.clock = assumed(3.5e8, "data sheet limit of a DSP58 in floating point 750 MHz (AMD DS960)");
  d.dsp = recalled(1968, sheet);
  d.lut = read(9e5, "Hot Chips 31, Versal AI Core");
  d.bram36 = recalled(967, sheet);
  d.uram = recalled(463, sheet);
  d.f32_add_dsp = d.f32_mul_dsp = d.f32_fma_dsp = read(1, block);
  d.memory_rate = recalled(2.56e10, "its DDR4; LPDDR4 left out");
  d.upload_rate = d.download_rate = assumed(1.26e10, "0.8 of the raw 15.75e9 bytes per second of PCIe 4 x8");
  d.watts = assumed(45, "0.6 of its limit");
  d.idle_watts = assumed(20);
  d.max_watts = assumed(75);
  return d;
}

/// Default for the host, used unless its power meters are read.
inline sourced host_watts_per_thread() { return assumed(15, "30 W for two cores"); }

/// Devices with which a profile is compared.
inline std::vector<device> every_device() { return {h200(), h100(), rtx_5080(), alveo_u280(), versal_vck190()}; }

}  // namespace device_data

/// Cost of operations on the fabric, for words of one kind. LUTs of operations without DSP blocks grow with the bits.
struct word {
  int bits = 32;           ///< width of the arithmetic
  bool floating = true;
  int memory_bits = bits;  ///< width of samples in memory

  std::string name() const { return floating ? "f32" : "fixed " + std::to_string(bits); }
};
inline constexpr word f32{32, true}, fixed_16{16, false};

namespace fabric {

using device_data::assumed;
using device_data::read;
inline constexpr char const* by_yosys = "Yosys 0.23, synth_xilinx -family xcup, out of context";

inline sourced f32_add_lut() { return assumed(200); }
inline sourced f32_mul_lut() { return assumed(100); }
inline sourced f32_fma_lut() { return assumed(300); }
inline sourced f32_function_lut() { return assumed(600, "400 to 800: division, root, exponential, logarithm"); }
inline sourced f32_function_dsp() { return assumed(6.5, "0 to 13"); }
inline sourced f32_add_clocks() { return read(7, "stages of fadd in public RTL made by HLS"); }
inline sourced fixed_mul_lut() { return {80, mark::measured, by_yosys}; }
/// DSP blocks multiply 27 x 18 signed bits.
inline sourced fixed_mul_dsp(int bits) {
  return {std::ceil((bits - 1) / 26.0) * std::ceil((bits - 1) / 17.0), mark::measured, by_yosys};
}
inline sourced fixed_function_lut() { return assumed(60, "a table with linear interpolation"); }
inline sourced fixed_function_dsp() { return assumed(1, "the slope between entries of a table"); }
// Two readers share 1 k words of 36 bits.
inline sourced fixed_function_bram() { return {0.5, mark::measured, by_yosys}; }
inline sourced depth_clocks() { return assumed(100, "latency of a lane; fills are short beside the work"); }
inline sourced resource_share() { return assumed(0.7, "0.6 to 0.85: usual advice for timing closure"); }
inline sourced pipeline_share() { return assumed(0.8); }
inline sourced port_share() { return assumed(0.7); }
inline constexpr double bram_bits = 36 * 1024, uram_bits = 288 * 1024;
/// An array in memory has an interface of 512 bits with a FIFO in either direction of one burst.
inline sourced interface_bram() { return assumed(15, "two FIFOs of 512 x 512 bits, 72 bits a block"); }
inline sourced interface_lut() { return assumed(3000, "an AXI master of 512 bits with its bursts"); }
inline sourced fifo_bram() { return assumed(2, "a FIFO of 512 x 128 bits between two stages"); }
/// Share of the usable bandwidth by class of accesses, in the order of access_class. Plain HLS code on HBM lost 2.4 to
/// 3.8 times (Choi et al., When HLS Meets FPGA HBM, 2020).
inline sourced access_efficiency(int access) {
  constexpr double share[] = {1, 0.8, 0.7, 0.35, 0.25};
  return assumed(share[access], "by class: streamed, reduced, strided, gathered, scattered; 2.4 to 3.8 times lost by "
                                "plain HLS code on HBM (Choi et al., 2020)");
}

}  // namespace fabric

/// Picojoules, for the lower bound of the energy.
namespace energy {

inline constexpr char const* jouppi = "7 nm: Jouppi et al., ISCA 2021, doi:10.1109/ISCA52012.2021.00010";
inline sourced f32_add() { return device_data::recalled(0.38, jouppi); }
inline sourced f32_mul() { return device_data::recalled(1.31, jouppi); }
inline sourced fixed_mac() {
  return device_data::assumed(0.5, "16 bit: between int8 (0.07) and int32 (1.48) of the same table");
}
inline sourced read_byte() { return device_data::recalled(7.5 / 8, jouppi); }  // 64 bits from 8 KiB
inline sourced hbm_byte() { return device_data::recalled(8 * 3.9, "HBM2: doi:10.1145/3123939.3124545"); }
inline sourced fabric_factor() {
  return device_data::assumed(
      5, "DSP and RAM blocks against an ASIC; Kuon and Rose, IEEE TCAD 26(2), 2007, have 12 to 14 for logic");
}

}  // namespace energy
}  // namespace mbirk::profile::fpga
