#include "commands/command_files.hpp"

#include <sys/stat.h>

#include <set>
#include <system_error>

#include "mbirk/io/output_file.hpp"

namespace mbirk::program {

namespace fs = std::filesystem;

command_files::file command_files::found(fs::path const& name) {
  file f{name.string(), {}, {}};
  std::error_code ignored;
  auto const target = mbirk::detail::replaced_file(name, ignored);
  f.place = fs::weakly_canonical(mbirk::detail::folder_of(target), ignored) / target.filename();
  struct stat there = {};
  if (::stat(name.c_str(), &there) == 0) f.id = {there.st_dev, there.st_ino};
  return f;
}

void command_files::reads(fs::path const& name) {
  if (!name.empty()) read_.push_back(found(name));
}
void command_files::writes(fs::path const& name) {
  if (!name.empty()) written_.push_back(found(name));
}

void command_files::check() const {
  std::set<fs::path> folders;
  for (std::size_t k = 0; k < written_.size(); ++k) {
    auto const& out = written_[k];
    for (auto const& in : read_)
      require<io_error>(!out.is(in), [&] {
        return out.name + ": would be written over what is read" + (in.name == out.name ? "" : " as " + in.name) +
               ", expected another file";
      });
    for (std::size_t i = 0; i < k; ++i)
      require<io_error>(!out.is(written_[i]), [&] {
        return out.name + ": would be written twice" +
               (written_[i].name == out.name ? "" : ", also as " + written_[i].name) + ", expected different files";
      });
    std::error_code wrong;
    mbirk::detail::replaced_file(out.name, wrong);
    require<io_error>(wrong != std::errc::is_a_directory,
                      [&] { return out.name + ": cannot be written: it is a folder, expected the name of a file"; });
    require<io_error>(!wrong, [&] { return out.name + ": cannot be written: " + wrong.message(); });
    folders.insert(out.place.parent_path());
  }
  for (auto const& folder : folders) remove_abandoned(folder);
}

void command_files::check_and_open() const {
  check();
  for (auto const& out : written_) output_file const probe(out.name, durability::unsynced);
}

}  // namespace mbirk::program
