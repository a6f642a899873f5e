// What a profile measured and counted as tables, for pandas and the like.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace mbirk::program {

#if defined(MBIRK_WITH_LIBLZMA)
inline constexpr bool with_tables = true;
#else
inline constexpr bool with_tables = false;
#endif

/// Writes measurements.csv.xz, kernels.csv.xz, arrays.csv.xz and reuse.csv.xz into a folder that exists; nothing unless with_tables.
/// @param report  as mbirk profile writes it
/// @throws io_error naming the file
void write_tables(std::filesystem::path const& folder, nlohmann::json const& report);

}  // namespace mbirk::program
