// Measures the reshard of a checkpoint beside a plain copy of the same files: reshard_rate FOLDER MEBIBYTES.
// The folder must not exist; it is removed afterwards.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/checkpoint/sharded.h"
#include "core/layout/registry.h"

namespace shardcheck::checkpoint {
namespace {

using layout::Ownership;
using layout::Parameter;

Ownership placed(std::string_view layout, std::int32_t world, const std::vector<Parameter>& parameters) {
  return {layout::layout_named(layout, parameters, layout::mesh_of(world), {}), parameters};
}

double seconds(auto&& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const std::filesystem::path& folder, std::int64_t mebibytes) {
  constexpr std::int64_t kTensors = 16, kColumns = 1000;
  const std::int64_t rows = mebibytes * (std::int64_t{1} << 20) / kTensors / kColumns / 4;
  std::vector<Parameter> parameters;
  for (std::int64_t t = 0; t < kTensors; ++t) {
    parameters.push_back({.name = fmt::format("t{}", t), .shape = {rows, kColumns}, .dtype = DType::f32});
  }
  const double gigabytes = static_cast<double>(rows * kColumns * kTensors * 4) / 1e9;
  std::filesystem::create_directory(folder);
  const Ownership eight = placed("fsdp2-per-param", 8, parameters);
  const double save = seconds([&] {
    save_sharded(folder / "a", eight, parameters, "fsdp2-per-param",
                 [](const StoragePlace& at, std::span<std::byte> into) {
                   std::memset(into.data(), at.param.value + 1, into.size());
                 });
  });
  const double copy = seconds(
      [&] { std::filesystem::copy(folder / "a", folder / "b", std::filesystem::copy_options::recursive); });
  const double reshard = seconds([&] {
    ShardedCheckpoint(folder / "a")
        .reshard(folder / "c", placed("zero12-flat", 6, parameters), parameters, "zero12-flat");
  });
  const double load = seconds([&] {
    ShardedCheckpoint(folder / "c")
        .load(placed("megatron-ddp", 5, parameters), parameters,
              [](const StoragePlace&, std::span<const std::byte>) {});
  });
  fmt::print(
      "{:.2f} GB: save {:.2f} GB/s, copy by the system {:.2f} GB/s, reshard 8 to 6 ranks {:.2f} GB/s, load "
      "{:.2f} GB/s\n",
      gigabytes, gigabytes / save, gigabytes / copy, gigabytes / reshard, gigabytes / load);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace shardcheck::checkpoint

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  shardcheck::checkpoint::measure(argv[1], std::atoll(argv[2]));
}
