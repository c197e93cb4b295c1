// L18 on real files: what one layout and world saves, any other loads; damage is named; old folders stay.
#include "core/checkpoint/sharded.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <stdexcept>
#include <tuple>

#include "core/layout/registry.h"
#include "tests/core/checkpoint/temp_folder.h"

namespace shardcheck::checkpoint {
namespace {

using layout::Ownership;
using layout::Parameter;

std::vector<Parameter> model() {
  std::vector<Parameter> parameters{{.name = "embed", .shape = {7, 4}},
                                    {.name = "norm", .shape = {5}, .dtype = DType::f32},
                                    {.name = "frozen", .shape = {2, 3}, .requires_grad = false},
                                    {.name = "head", .shape = {7, 4}},
                                    {.name = "none", .shape = {0}}};
  parameters[1].unit = 1;  // a flat parameter has one dtype
  parameters[3].tied_to = ParamId{0};
  return parameters;
}

Ownership placed(std::string_view layout, std::int32_t world, const std::vector<Parameter>& parameters) {
  return {layout::layout_named(layout, parameters, layout::mesh_of(world), {.block_rows = 1}), parameters};
}

/// Byte `b` of element `e`.
std::byte value_of(ParamId param, std::int64_t e, std::int64_t b) {
  return std::byte(static_cast<unsigned char>(param.value * 64 + e * 5 + b * 3 + 1));
}

/// The state that a rank must hold, byte by byte: (buffer, bucket, rank, param, offset) -> bytes of the
/// element.
using Storage = std::map<std::tuple<int, int, int, int, std::int64_t>, std::vector<std::byte>>;

auto key(const StoragePlace& at, std::int64_t i) {
  return std::tuple{at.spot.buffer, at.spot.bucket, at.spot.rank.value, at.param.value, at.spot.off + i};
}

Storage expected(const Ownership& ownership, const std::vector<Parameter>& parameters) {
  Storage storage;
  for (std::int32_t i = 0; i < std::ssize(parameters); ++i) {
    const ParamId param{i};
    if (parameters[i].tied_to) continue;
    for (std::int64_t e = 0; e < parameters[i].numel(); ++e) {
      std::vector<std::byte> bytes;
      for (std::int64_t b = 0; b < bytes_of(parameters[i].dtype); ++b) bytes.push_back(value_of(param, e, b));
      if (!ownership.holds(param)) {
        storage[key({param, {-1, -1, Rank{0}, e}}, 0)] = bytes;
        continue;
      }
      for (std::int64_t r = 0; r < ownership.replicas(param); ++r) {
        const layout::Holding h = ownership.at(param, e, r);
        storage[key({param, {h.buffer, h.bucket, h.rank, h.off}}, 0)] = bytes;
      }
    }
  }
  return storage;
}

void save(const std::filesystem::path& folder, std::string_view layout, std::int32_t world) {
  const auto parameters = model();
  const Ownership ownership = placed(layout, world, parameters);
  const Storage storage = expected(ownership, parameters);
  save_sharded(folder, ownership, parameters, layout, [&](const StoragePlace& at, std::span<std::byte> into) {
    const std::int64_t width = bytes_of(parameters[at.param.value].dtype);
    for (std::int64_t i = 0; i < std::ssize(into); ++i) into[i] = storage.at(key(at, i / width))[i % width];
  });
}

Storage loaded(const ShardedCheckpoint& checkpoint, std::string_view layout, std::int32_t world) {
  const auto parameters = model();
  Storage storage;
  checkpoint.load(placed(layout, world, parameters), parameters,
                  [&](const StoragePlace& at, std::span<const std::byte> from) {
                    const std::int64_t width = bytes_of(parameters[at.param.value].dtype);
                    for (std::int64_t i = 0; i < std::ssize(from); ++i) {
                      storage[key(at, i / width)].push_back(from[i]);
                    }
                  });
  return storage;
}

TEST(Sharded, SavedByOneLoadedByAny) {
  for (const layout::NamedLayout& from : layout::named_layouts()) {
    for (const std::int32_t world : {1, 4}) {
      const TempFolder temp;
      save(temp.path() / "c", from.name, world);
      const ShardedCheckpoint checkpoint(temp.path() / "c");
      EXPECT_EQ(std::ssize(checkpoint.index().files), world);
      for (const layout::NamedLayout& to : layout::named_layouts()) {
        SCOPED_TRACE(testing::Message() << from.name << " on " << world << " to " << to.name << " on 3");
        EXPECT_EQ(loaded(checkpoint, to.name, 3), expected(placed(to.name, 3, model()), model()));
      }
    }
  }
}

TEST(Sharded, ReshardedFilesAreThoseThatTheTargetSaves) {
  const TempFolder temp;
  save(temp.path() / "a", "zero12-flat", 2);
  save(temp.path() / "b", "fsdp2-per-param", 3);
  const auto parameters = model();
  ShardedCheckpoint(temp.path() / "a")
      .reshard(temp.path() / "c", placed("fsdp2-per-param", 3, parameters), parameters, "fsdp2-per-param");
  ASSERT_EQ(names_in(temp.path() / "b"), names_in(temp.path() / "c"));
  for (const auto& entry : std::filesystem::directory_iterator(temp.path() / "b")) {
    std::ifstream one(entry.path()), other(temp.path() / "c" / entry.path().filename());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(one), {}),
              std::string(std::istreambuf_iterator<char>(other), {}))
        << entry.path();
  }
}

class Damaged : public testing::Test {
 protected:
  Damaged() { save(folder(), "fsdp2-per-param", 3); }
  std::filesystem::path folder() const { return temp.path() / "c"; }
  std::filesystem::path shard() const { return folder() / "rank-00001-of-00003.safetensors"; }
  std::string refusal() const {
    return sentence_of([&] { ShardedCheckpoint checkpoint(folder()); });
  }
  TempFolder temp;
};

TEST_F(Damaged, AMissingShard) {
  std::filesystem::remove(shard());
  EXPECT_NE(refusal().find("rank-00001-of-00003.safetensors: cannot read"), std::string::npos);
}

TEST_F(Damaged, ATruncatedShard) {
  std::filesystem::resize_file(shard(), std::filesystem::file_size(shard()) - 1);
  EXPECT_NE(refusal().find("rank-00001-of-00003.safetensors: tensor"), std::string::npos);
}

TEST_F(Damaged, AShardInPlaceOfAnother) {
  std::filesystem::copy_file(folder() / "rank-00002-of-00003.safetensors", shard(),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(refusal().find("but the index places"), std::string::npos) << refusal();
}

TEST_F(Damaged, AMissingIndex) {
  std::filesystem::remove(folder() / "shardcheck.index.json");
  EXPECT_NE(refusal().find("shardcheck.index.json: cannot read"), std::string::npos);
}

TEST_F(Damaged, AWeightThatIsNotThere) {
  const ShardedCheckpoint checkpoint(folder());
  const auto load = [&](Parameter wanted) {
    const std::vector<Parameter> parameters{wanted};
    const Ownership ownership = placed("zero12-flat", 2, parameters);
    return sentence_of([&] { checkpoint.load(ownership, parameters, [](const auto&, auto) { FAIL(); }); });
  };
  EXPECT_NE(load({.name = "gate", .shape = {1}}).find("\"gate\": the checkpoint does not hold it"),
            std::string::npos);
  EXPECT_NE(load({.name = "norm", .shape = {5}}).find("dtype: saved as f32, asked for as bf16"),
            std::string::npos);
  EXPECT_NE(load({.name = "embed", .shape = {4, 7}}).find("shape: saved as [7, 4]"), std::string::npos);
}

TEST_F(Damaged, AFailedSaveLeavesTheOldOne) {
  const auto parameters = model();
  const Ownership ownership = placed("zero12-flat", 2, parameters);
  const auto fail = [](const StoragePlace&, std::span<std::byte>) {
    throw std::runtime_error("the rank died");
  };
  EXPECT_EQ(sentence_of([&] { save_sharded(folder(), ownership, parameters, "zero12-flat", fail); }),
            "the rank died");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(names_in(temp.path()), "c");
}

}  // namespace
}  // namespace shardcheck::checkpoint
