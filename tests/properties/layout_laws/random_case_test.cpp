// Random cases over all layouts find declared quirks and nothing else, and reach what they are meant to
// reach.
#include "properties/layout_laws/random_case.h"

#include <gtest/gtest.h>

#include <map>

#include "properties/layout_laws/quirks.h"

namespace shardcheck::laws {
namespace {

constexpr std::int64_t kCases = 26000;

TEST(RandomCase, NothingBeyondDeclaredQuirks) {
  std::map<std::string, int> placed, refused, quirk_seen;
  std::map<std::string, int> reached;
  for (std::int64_t i = 0; i < kCases; ++i) {
    const Case drawn = random_case(20, static_cast<std::uint64_t>(i));
    const Verdict verdict = judge(drawn);
    ++(verdict.rejected ? refused : placed)[drawn.asked.layout];
    for (const LawFinding& finding : verdict.findings) {
      ASSERT_FALSE(finding.quirk.empty()) << "case " << i << ": " << to_text(finding) << "\n"
                                          << to_text(drawn.asked);
      ++quirk_seen[finding.layout + finding.law.data() + finding.quirk.data()];
    }
    const std::int64_t world = drawn.asked.mesh.ranks();
    for (const layout::Parameter& p : drawn.asked.parameters) {
      reached["scalar"] += p.shape.empty();
      if (p.shape.empty() || verdict.rejected) continue;
      reached["dim 0 below the world"] += p.shape[0] > 0 && p.shape[0] < world;
      reached["no elements"] += p.shape[0] == 0;
      reached["one element"] += p.numel() == 1;
      reached["a bucket exactly"] += p.numel() == drawn.asked.configuration.bucket_size.value_or(-1);
      reached["beyond 2^31"] += p.numel() > std::int64_t{1} << 31;
      reached["2^40 rows"] += p.shape[0] == std::int64_t{1} << 40;
      reached["tied"] += p.tied_to.has_value();
      reached["frozen"] += !p.requires_grad;
    }
    reached["bytes moved"] += verdict.moved_bytes;
  }
  for (const layout::NamedLayout& layout : layout::named_layouts()) {
    const std::string name(layout.name);
    EXPECT_GT(placed[name], 5 * refused[name]) << name << " refuses too much to be tested";
  }
  for (const Quirk& quirk : quirks()) {
    EXPECT_GT(quirk_seen[std::string(quirk.layout) + quirk.law.data() + quirk.reference.data()], 0)
        << quirk.layout << " " << quirk.reference << " was never reached";
  }
  for (const auto& [what, count] : reached) EXPECT_GT(count, 20) << what;
}

TEST(RandomCase, DependsOnItsNumberAlone) {
  const std::string one = to_text(random_case(3, 17).asked);
  random_case(3, 18);
  EXPECT_EQ(to_text(random_case(3, 17).asked), one);
  EXPECT_NE(to_text(random_case(4, 17).asked), one);
}

TEST(RandomCase, AtMostTwelveTensorsAndSixteenRanks) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Case drawn = random_case(5, i);
    EXPECT_LE(drawn.asked.parameters.size(), 12u);
    EXPECT_LE(drawn.asked.mesh.ranks(), 16);
  }
}

}  // namespace
}  // namespace shardcheck::laws
