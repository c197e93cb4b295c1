// A fingerprint as a whole: every numeric fault changes it, and only it.
#include "properties/fingerprint/fingerprint.h"

#include <set>

#include "backends/faulty/faults.h"
#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

Fingerprint of(Backend& backend) {
  return observe(backend, [](const std::string&, double) {});
}

TEST(Fingerprint, EveryFactHasANameOfItsOwn) {
  const auto cpu = make_cpu_backend(kHopper);
  const Fingerprint fingerprint = of(*cpu);
  std::set<std::pair<std::string, std::string>> names;
  for (const Fact& fact : fingerprint.facts) {
    EXPECT_TRUE(names.insert({fact.subject, fact.name}).second) << fact.subject << ", " << fact.name;
    EXPECT_FALSE(fact.how.empty()) << fact.subject << ", " << fact.name;
  }
  EXPECT_TRUE(differences(fingerprint, of(*cpu)).empty());
}

TEST(Fingerprint, ProfilesAndFaultsShow) {
  const auto hopper = make_cpu_backend(kHopper), ideal = make_cpu_backend(kIdeal);
  const Fingerprint sound = of(*hopper);
  EXPECT_FALSE(differences(sound, of(*ideal)).empty());
  for (const NumericFault& fault : list_numeric_faults())
    EXPECT_FALSE(differences(sound, of(*faulty(std::string(fault.name)))).empty()) << fault.name;
}

TEST(Fingerprint, DifferencesNameBothValuesAndWhatOneSideLacks) {
  const Fingerprint a{
      {}, {}, {{"s", "n", "1", "", {}}, {"s", "gone", "x", "", {}}, {"s", "same", "y", "", {}}}};
  const Fingerprint b{
      {}, {}, {{"s", "n", "2", "", {}}, {"s", "same", "y", "", {}}, {"s", "new", "z", "", {}}}};
  const auto found = differences(a, b);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name + found[0].a + found[0].b, "n12");
  EXPECT_EQ(found[1].name + found[1].a + found[1].b, "gonex");
  EXPECT_EQ(found[2].name + found[2].a + found[2].b, "newz");
}

TEST(Fingerprint, ProgressNamesThePartsAndGoesUp) {
  const auto cpu = make_cpu_backend(kHopper);
  double before = -1;
  observe(*cpu, [&](const std::string& part, double share) {
    EXPECT_FALSE(part.empty());
    EXPECT_GT(share, before);
    before = share;
  });
  EXPECT_LT(before, 1);
}

}  // namespace
}  // namespace shardcheck
