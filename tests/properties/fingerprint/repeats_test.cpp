#include "properties/fingerprint/repeats.h"

#include <cstring>

#include "core/numerics/profile.h"
#include "tests/properties/fingerprint/values.h"

namespace shardcheck {
namespace {

TEST(ObserveRepeats, TheReferenceRepeatsAndItsDigestIsItsProfiles) {
  const auto hopper = make_cpu_backend(kHopper), ideal = make_cpu_backend(kIdeal);
  const std::vector<Fact> first = observe_repeats(*hopper), again = observe_repeats(*hopper);
  EXPECT_EQ(first, again);
  const std::vector<Fact> other = observe_repeats(*ideal);
  for (const char* kind : {"GEMMs of 16-bit operands", "GEMMs of FP8, fast", "GEMMs of FP8, promoted",
                           "GEMMs of FP8, block scales"}) {
    EXPECT_EQ(value_in(first, kind, "repeated"), "the same bits");
    EXPECT_NE(value_in(first, kind, "digest"), value_in(other, kind, "digest"));
  }
  EXPECT_EQ(value_in(first, "all_reduce f32 over 4 ranks", "repeated"), "the same bits");
}

/// A CPU that changes the first byte of what it read last in every other run.
class Restless final : public Backend {
 public:
  BackendInfo info() const override { return inner_->info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { inner_->execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
    if (++reads_ % 2 == 0) bytes.front() ^= std::byte{1};
  }

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend(kHopper);
  int reads_ = 0;
};

TEST(ObserveRepeats, AMachineThatDoesNotRepeatIsSeen) {
  Restless machine;
  const std::string value = value_in(observe_repeats(machine), "GEMMs of FP8, fast", "repeated");
  EXPECT_NE(value.find("differ"), std::string::npos) << value;
}

}  // namespace
}  // namespace shardcheck
