// What a caller asks of a backend that may be joint.
#include "core/joint.h"

#include <gtest/gtest.h>

namespace shardcheck {
namespace {

/// Does nothing but stand for a machine.
template <class Interface>
class Idle : public Interface {
 public:
  BackendInfo info() const override { return {"idle", "", "ideal"}; }
  void execute(const Plan&, OpIndex, OpIndex) override {}
  void write(const Plan&, Rank, View, std::span<const std::byte>) override {}
  void read(const Plan&, Rank, View, std::span<std::byte>) override {}
};

/// Another process found W9.
class OneOfTwo final : public Idle<Joint> {
 public:
  std::vector<Finding> agree(const std::vector<Finding>& mine) override {
    std::vector<Finding> all = mine;
    all.push_back({.clause = "W9"});
    return all;
  }
  Backend& whole() override { return whole_; }

 private:
  Idle<Backend> whole_;
};

TEST(Joint, OneProcessKnowsWhatItFound) {
  Idle<Backend> backend;
  const auto all = agreed(backend, {{.clause = "W4"}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].clause, "W4");
  EXPECT_EQ(&whole_of(backend), &backend);
}

TEST(Joint, SeveralKnowWhatAnyFound) {
  OneOfTwo backend;
  const auto all = agreed(backend, {{.clause = "W4"}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].clause, "W9");
  EXPECT_EQ(&whole_of(backend), &backend.whole());
}

}  // namespace
}  // namespace shardcheck
