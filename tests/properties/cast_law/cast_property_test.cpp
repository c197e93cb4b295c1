// Casts as a property: cases survive their JSON, the reference holds, and machines that cast otherwise are
// told by the law that they break, on one input.
#include "properties/cast_law/cast_property.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "backends/cpu/cpu_backend.h"
#include "core/error.h"
#include "core/numerics/cast_chain.h"
#include "core/numerics/decode.h"
#include "core/numerics/encode.h"

namespace shardcheck {
namespace {

/// Casts fp32 by a chain of roundings, whatever policy it is asked for.
class ChainMachine final : public Backend {
 public:
  explicit ChainMachine(std::vector<CastStep> steps) : steps_(std::move(steps)) {}
  BackendInfo info() const override { return {"stubborn", "", "ideal"}; }
  void write(const Plan&, Rank, View view, std::span<const std::byte> bytes) override {
    bytes_[view.buffer.value].assign(bytes.begin(), bytes.end());
  }
  void execute(const Plan&, OpIndex, OpIndex) override {
    for (std::size_t i = 0; i < bytes_[1].size(); ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, &bytes_[0][4 * i], 4);
      bytes_[1][i] = static_cast<std::byte>(encode_through(steps_, bits));
    }
  }
  void read(const Plan&, Rank, View view, std::span<std::byte> bytes) override {
    std::copy(bytes_[view.buffer.value].begin(), bytes_[view.buffer.value].end(), bytes.begin());
  }

 private:
  std::vector<CastStep> steps_;
  std::vector<std::byte> bytes_[2];
};

/// The clauses that a machine breaks when it is asked for nv_saturating of fp32 into E4M3.
std::set<std::string> broken_by(std::vector<CastStep> steps) {
  ChainMachine machine(std::move(steps));
  std::set<std::string> clauses;
  for (std::uint64_t number = 0; number < 400; ++number) {
    const auto drawn = cast_kind().draw({.seed = 2, .number = number});
    CastCase c = static_cast<const CastOfInputs&>(*drawn).value();
    if (c.source != DType::f32 || c.destination != DType::e4m3 || c.policy != "nv_saturating") continue;
    for (const Finding& finding : judge_cast(machine, CastOfInputs(c)).findings)
      clauses.insert(finding.clause);
  }
  return clauses;
}

TEST(CastProperty, EachLawIsBrokenByAMachineThatBreaksIt) {
  using Clauses = std::set<std::string>;
  const CastStep right{FormatId::e4m3, kNvSaturating};
  EXPECT_EQ(broken_by({right}), Clauses{});
  EXPECT_EQ(broken_by({{FormatId::bf16, kIeee}, right}), Clauses{"F12"});
  EXPECT_EQ(broken_by({{FormatId::e4m3, kNvNoSaturation}}), Clauses{"F7"});
  CastPolicy loses_nan = kNvSaturating;
  loses_nan.nan_sign = NanSign::keep;
  EXPECT_EQ(broken_by({{FormatId::e4m3, loses_nan}}), Clauses{"F8"});
  CastPolicy truncates = kNvSaturating;
  truncates.rounding = Rounding::toward_zero;
  EXPECT_TRUE(broken_by({{FormatId::e4m3, truncates}}).contains("F3"));
}

TEST(CastProperty, TheReferenceHoldsAndEverySituationIsReached) {
  const auto backend = make_cpu_backend(kIdeal);
  std::set<std::size_t> reached;
  for (std::uint64_t number = 0; number < 100; ++number) {
    const JudgedCase judged = judge_cast(*backend, *cast_kind().draw({.seed = 1, .number = number}));
    EXPECT_TRUE(judged.findings.empty()) << judged.findings[0].sentence;
    reached.insert(judged.situations.begin(), judged.situations.end());
  }
  EXPECT_EQ(reached.size(), cast_situations().size());
}

TEST(CastProperty, CasesSurviveTheirJsonAndBecomeOneInput) {
  auto drawn = cast_kind().draw({.seed = 1, .number = 5});
  EXPECT_EQ(cast_kind().read(drawn->json(), "c.json")->json(), drawn->json());
  int steps = 0;
  while (!drawn->smaller().empty() && ++steps < 10) drawn = std::move(drawn->smaller()[1]);
  EXPECT_EQ(static_cast<const CastOfInputs&>(*drawn).value().inputs.size(), 1u);
}

TEST(CastProperty, DamageIsASentence) {
  for (const auto& [fields, part] : std::vector<std::pair<std::string, std::string>>{
           {R"("inputs": [])", "c.json.inputs: expected 1 to"},
           {R"("source": "bf16", "inputs": [65536])", "c.json.inputs[0]: expected a code of bf16"},
           {R"("source": "e4m3", "inputs": [1])", "c.json.source"},
           {R"("destination": "bf16", "inputs": [1])", "c.json.destination"},
           {R"("policy": "nv", "inputs": [1])", "is no policy"}}) {
    try {
      cast_kind().read(R"({"kind": "cast", )" + fields + "}", "c.json");
      ADD_FAILURE() << "accepted; expected " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace shardcheck
