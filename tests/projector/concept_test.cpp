// Every geometry of the list has a projector with all members of the concept, and traits of its own.
#include "mbirk/projector/concept.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "mbirk/exec/emulated.hpp"
#include "mbirk/geometry/list.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/mbirk.hpp"

namespace {

using namespace mbirk;

template <class Geometry> constexpr bool has_projector() {
  using projector = mbirk::detail::projector<Geometry>;
  return mbirk::detail::projector_of<projector, Geometry, context<exec::host, instrument::none>> &&
         mbirk::detail::projector_of<projector, Geometry, context<exec::host, instrument::counting<>>> &&
         mbirk::detail::projector_of<projector, Geometry, context<exec::emulated, instrument::none>>;
}

struct incomplete : mbirk::detail::keeps_every_projection {
  template <class Context> using tables = mbirk::detail::cone_tables<Context>;
};
static_assert(!mbirk::detail::projector_of<incomplete, cone_geometry, context<exec::host, instrument::none>>);

TEST(ProjectorConcept, HoldsForEveryGeometry) {
  geometries::each([]<class Geometry>(std::type_identity<Geometry>) {
    static_assert(has_projector<Geometry>());
    static_assert(std::is_trivially_copyable_v<Geometry>);
  });
}
TEST(Geometries, HaveNamesOfTheirOwn) {
  auto const names = geometries::names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ((geometry_types<parallel_geometry>::names_text()), "parallel");
  EXPECT_EQ((geometry_types<parallel_geometry, cone_geometry>::names_text()), "parallel or cone");
  EXPECT_EQ((geometry_types<parallel_geometry, cone_geometry>::names_text({"image"}, "'")),
            "'parallel', 'cone' or 'image'");
  EXPECT_STREQ((mbirk::detail::operation_name<cone_geometry, "sparse_back_project">), "cone_sparse_back_project");
}
TEST(Geometries, AreFoundByName) {
  std::string found;
  EXPECT_TRUE(
      geometries::with_name("cone", [&]<class Geometry>(std::type_identity<Geometry>) { found = Geometry::beam; }));
  EXPECT_EQ(found, "cone beam");
  EXPECT_FALSE(geometries::with_name("fan", [&](auto) { found = "fan"; }));
  EXPECT_EQ(found, "cone beam");
}
TEST(Geometries, HaveATypicalScan) {
  geometries::each([]<class Geometry>(std::type_identity<Geometry>) {
    scan<Geometry> const s(Geometry::typical_scan({8, 6, 10}));
    EXPECT_EQ(s.sinogram_shape(), (std::array<index_t, 3>{8, 6, 10}));
    EXPECT_TRUE(s.warnings().empty()) << Geometry::name;
    if (!angles_of(s).empty()) {
      EXPECT_EQ(angles_of(s)[0], 0);
    }
    EXPECT_GT(s.recon_shape()[0], 0);
  });
}

}  // namespace
