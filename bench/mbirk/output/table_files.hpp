// Measurements and counts of a profile as tables, for pandas and similar tools.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace mbirk::program {

#if defined(MBIRK_WITH_LIBLZMA)
inline constexpr bool with_tables = true;
#else
inline constexpr bool with_tables = false;
#endif

/// Writes measurements.csv.xz, kernels.csv.xz, arrays.csv.xz and reuse.csv.xz into an existing folder; does nothing
/// unless with_tables.
/// @param report  in the format of mbirk profile
/// @throws io_error with the name of the file
void write_tables(std::filesystem::path const& folder, nlohmann::json const& report);

}  // namespace mbirk::program
