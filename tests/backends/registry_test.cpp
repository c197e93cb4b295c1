#include "backends/registry.h"

#include <gtest/gtest.h>

#include "backends/faulty/faults.h"
#include "core/error.h"

namespace shardcheck {
namespace {

/// The sentence of the Error that making `spec` throws; its kind must be `kind`.
std::string sentence_of(const std::string& spec, const std::string& profile, ErrorKind kind) {
  try {
    make_backend(spec, {.profile = profile});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << spec << " was made";
  return "";
}

TEST(Registry, MakesWhatItLists) {
  for (const BackendEntry& entry : list_backends()) {
    EXPECT_FALSE(entry.description.empty()) << entry.name;
    EXPECT_EQ(entry.available, entry.reason.empty()) << entry.name;
  }
  EXPECT_EQ(make_backend("cpu", {.profile = "ideal"})->info().profile, "ideal");
  EXPECT_EQ(make_backend("cpu", {.profile = "hopper"})->info().profile, "hopper");
  for (const NumericFault& fault : list_numeric_faults()) {
    const std::string name(fault.name);
    EXPECT_EQ(make_backend("faulty:" + name, {.profile = "ideal"})->info().name, "faulty(cpu, " + name + ")");
  }
  EXPECT_EQ(make_backend("shadow:cpu,faulty:scale-twice", {.profile = "ideal"})->info().name,
            "shadow(cpu, faulty(cpu, scale-twice))");
}

TEST(Registry, UnknownNamesAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(sentence_of("tpu", "ideal", ErrorKind::bad_input),
            "backend: \"tpu\" is not a backend; known are \"cpu\", \"cuda\", \"faulty:FAULT\", "
            "\"shadow:REFERENCE,CANDIDATE\"");
  EXPECT_EQ(sentence_of("cpu", "", ErrorKind::bad_input),
            "profile: \"\" is not an arithmetic profile; known are \"ideal\", \"hopper\", \"volta\", "
            "\"turing\", \"ampere\", \"ada\", \"hopper-mma-sync\", \"blackwell\"");
  EXPECT_EQ(sentence_of("shadow:cpu", "ideal", ErrorKind::bad_input),
            "backend: \"shadow:cpu\" names one backend where two belong: \"shadow:REFERENCE,CANDIDATE\"");
  const std::string fault = sentence_of("faulty:no-such", "ideal", ErrorKind::bad_input);
  EXPECT_NE(fault.find("\"no-such\" is not a numeric fault; known are \"truncate-add\""), std::string::npos)
      << fault;
}

TEST(Registry, UnavailableBackendsSayWhy) {
  for (const BackendEntry& entry : list_backends()) {
    if (entry.available) continue;
    EXPECT_EQ(sentence_of(entry.name, "ideal", ErrorKind::machine_cannot), entry.name + ": " + entry.reason);
  }
}

}  // namespace
}  // namespace shardcheck
