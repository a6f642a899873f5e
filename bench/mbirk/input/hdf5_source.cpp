#if defined(MBIRK_WITH_HDF5)
#include "input/hdf5_source.hpp"

#include "input/hdf5_child.hpp"
#include "mbirk/io/hdf5.hpp"

namespace mbirk::program {
namespace {

class direct_hdf5 final : public hdf5_source {
 public:
  direct_hdf5(std::filesystem::path const& path, bool follow_links)
      : file_(path, follow_links ? hdf5_links::anywhere : hdf5_links::inside) {}

  bool has(std::string const& set) override { return file_.has(set); }
  std::vector<index_t> shape(std::string const& set) override { return file_.shape(set); }
  std::string type(std::string const& set) override { return file_.type(set); }
  text_record attributes(std::string const& object) override { return file_.attributes(object); }
  void read(std::string const& set, index_t first, index_t count, float* to) override {
    file_.read(set, first, count, to);
  }
  void read(std::string const& set, index_t first, index_t count, double* to) override {
    file_.read(set, first, count, to);
  }

 private:
  hdf5_file file_;
};

}  // namespace

void silence_hdf5() {
  static bool const once = [] {
    H5dont_atexit();  // at the end of the process it prints too; files are closed by their owners
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  static_cast<void>(once);
}

std::shared_ptr<hdf5_source> open_hdf5(std::filesystem::path const& path, hdf5_trust const& trust) {
  auto const open = [path, follow = trust.follow_links]() -> std::unique_ptr<hdf5_source> {
    silence_hdf5();
    return std::make_unique<direct_hdf5>(path, follow);
  };
  if (trust.untrusted) return read_in_child(path, trust, open);
  return open();
}

}  // namespace mbirk::program
#endif
