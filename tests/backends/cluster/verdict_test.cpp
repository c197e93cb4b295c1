#include "backends/cluster/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "tests/backends/cluster/children.h"

namespace shardcheck {
namespace {

using namespace std::chrono_literals;
using test::Children;
using test::require;

Finding finding_of(const std::string& clause, std::int32_t rank) {
  Finding finding{.clause = clause, .sentence = "something \"is\" wrong", .op = OpIndex{12}};
  finding.op_text = "all-reduce";
  finding.stream = "reduce";
  finding.rank = rank;
  finding.step = 1;
  finding.element = std::int64_t{1} << 40;
  finding.has_values = true;
  finding.expected = {0.5, 0x3f000000, DType::f32};
  finding.actual = {std::nan(""), 0x7fc0, DType::bf16};
  finding.provenance = {"", "microbatch 0 of rank 3 counted twice"};
  finding.history = {"op 3"};
  return finding;
}

TEST(Verdict, SurvivesTheWayThroughBytes) {
  const std::vector<Finding> findings{finding_of("W4", 3), Finding{}};
  const std::vector<Finding> back = findings_from_bytes(to_bytes(findings));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(to_json(back[0]), to_json(findings[0]));
  EXPECT_EQ(to_json(back[1]), to_json(findings[1]));
  EXPECT_EQ(back[0].provenance, findings[0].provenance);
}

TEST(Verdict, BytesThatAreNoneAreRefused) {
  const auto bytes = to_bytes({finding_of("W4", 3)});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(findings_from_bytes(std::span(bytes).first(size)), Error) << size;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(findings_from_bytes(longer), Error);
  auto counts = bytes;
  std::fill_n(counts.begin(), 8, std::byte{0xFF});  // the number of findings
  EXPECT_THROW(findings_from_bytes(counts), Error);
}

TEST(Verdict, AllProcessesAgree) {
  Children children;
  test::start_conversation(children, 3, {.comm_timeout = 20s}, [](Transport& transport) {
    const int process = transport.process();
    std::vector<Finding> mine{finding_of("W1", -1)};
    if (process > 0) mine.push_back(finding_of("W2", process));
    std::string text;
    for (const Finding& finding : agree(transport, mine)) {
      text += finding.clause + std::to_string(finding.rank) + " ";
    }
    require(text == "W1-1 W21 W22 ", "each finding once, in the order of the processes: " + text);
    require(agree_on_any(transport, process == 2), "one says so");
    require(!agree_on_any(transport, false), "nobody says so");
    const int statuses[][4] = {{0, 0, 0, 0},   {0, 4, 1, 1}, {1, 4, 0, 1},     {3, 1, 2, 3},
                               {0, 3, 70, 70}, {2, 1, 0, 2}, {130, 1, 130, 1}, {130, 130, 4, 130}};
    for (const auto& row : statuses) {
      require(agree_on_exit(transport, row[process]) == row[3], "the gravest status");
    }
  });
  for (const auto& ended : children.wait_for_all()) EXPECT_EQ(ended.status, 0) << ended.output;
}

}  // namespace
}  // namespace shardcheck
