// Cases as JSON, and the sentences for what no framework can run.
#include "properties/audit/audit_case.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/properties/audit/right_trace.h"

namespace shardcheck {
namespace {

std::string refused(const std::string& text) {
  try {
    audit_case_from_json(text, "case.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AuditCaseJson, ComesBackAsItWas) {
  AuditCase c = audit_tests::small_case();
  c.adapter = {
      .name = "fsdp2", .sync = SyncOn::every, .zeroes_gradients = true, .reshards = false, .replicas = 2};
  c.probing = true;
  EXPECT_EQ(audit_case_from_json(to_json(c), "case.json"), c);
  EXPECT_EQ(describe(c.adapter), "fsdp2, sync every, zero_grad zero, reshard false, replicas 2");
}

TEST(AuditCaseText, SaysWhatTheCaseHas) {
  AuditCase c = audit_tests::small_case();
  c.scenario.silent = {{.parameter = 1, .rank = 1, .microbatch = 0}};
  c.scenario.parameters[0].unit = 2;
  EXPECT_EQ(
      describe(c),
      "2 steps of 2 microbatches on 2 ranks; weights a (2x4 f32, unit 2, used once), b (3x4 f32, root, used "
      "twice); gradients f32, wire f32; silent: b on rank 1 in microbatch 0");
}

TEST(AuditCaseJson, MistakesAreSentences) {
  const std::string good = to_json(audit_tests::small_case());
  const auto with = [&](std::string from, std::string to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_NE(refused(good.substr(0, good.size() / 2)).find("not JSON"), std::string::npos);
  EXPECT_NE(refused(with("\"name\": \"ddp\"", "\"name\": \"ddp\", \"sync\": \"never\"")).find("adapter.sync"),
            std::string::npos);
  EXPECT_NE(refused(with("\"name\": \"ddp\"", "\"name\": \"ddp\", \"replicas\": 3")).find("replicas"),
            std::string::npos);
  EXPECT_NE(refused(with("\"name\": \"ddp\"", "\"name\": \"ddp\", \"colour\": 3")).find("colour"),
            std::string::npos);
  EXPECT_NE(refused("{\"schema\": 2}").find("version 2 is unknown"), std::string::npos);
}

TEST(AuditCaseJson, WhatNoFrameworkExpressesIsNamed) {
  Scenario s = audit_tests::small_case().scenario;
  EXPECT_EQ(inexpressible(s), "");
  s.uses[0].producer = Producer::fused;
  EXPECT_NE(inexpressible(s).find("main_grad"), std::string::npos);
  s.write_mode = WriteMode::r7;
  EXPECT_EQ(inexpressible(s), "");
  s.loss = Loss::per_token;
  EXPECT_NE(inexpressible(s).find("loss"), std::string::npos);
  const auto refused_with = [](auto change, const char* word) {
    Scenario other = audit_tests::small_case().scenario;
    change(other);
    EXPECT_NE(inexpressible(other).find(word), std::string::npos) << word;
  };
  // Nothing that the probe would not do is let in and then not done.
  refused_with([](Scenario& o) { o.outer = 2; }, "adapter.replicas");
  refused_with([](Scenario& o) { o.stages = 2; }, "mesh.stages must be 1");
  refused_with([](Scenario& o) { o.clip = 1; }, "numerics.clip must be 0");
  refused_with([](Scenario& o) { o.sync = Sync::last; }, "stand in the adapter");
  refused_with([](Scenario& o) { o.zeroing = false; }, "zero_grad");
  refused_with([](Scenario& o) { o.loop.recompute.all = true; }, "resumes");
  refused_with([](Scenario& o) { o.parameters[1].thaws_at = 1; }, "thaws_at");
  refused_with([](Scenario& o) { o.fp8.emplace(); }, "fp8");
}

}  // namespace
}  // namespace shardcheck
