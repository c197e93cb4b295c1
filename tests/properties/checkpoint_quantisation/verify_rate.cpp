// Measures quantize and verify of a checkpoint of bf16 weights beside plain reads of the same files by as
// many threads: verify_rate FOLDER MEBIBYTES RECIPE. The folder must not exist; it is removed afterwards.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/checkpoint/quantize_file.h"
#include "core/each_on_threads.h"
#include "core/integers.h"
#include "core/numerics/narrow.h"
#include "core/recipe/catalogue.h"
#include "properties/checkpoint_quantisation/verify.h"

namespace shardcheck::verify {
namespace {

namespace fs = std::filesystem;

/// Of the clock and of the cores that worked, which other processes do not lengthen as much.
struct Seconds {
  double clock = 0, cores = 0;
};
Seconds seconds(auto&& action) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t cores = std::clock();
  action();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - cores) / CLOCKS_PER_SEC};
}

std::string rate(double gigabytes, Seconds spent) {
  return fmt::format("{:.2f} ({:.2f} a core)", gigabytes / spent.clock, gigabytes / spent.cores);
}

/// Sums of eight uniform numbers, as good as normal ones for a rate.
void write_weights(const fs::path& path, std::int64_t mebibytes) {
  constexpr std::int64_t kRows = 4096, kColumns = 4096;
  const std::int64_t count =
      std::max<std::int64_t>(mebibytes * (std::int64_t{1} << 20) / kRows / kColumns / 2, 1);
  std::vector<checkpoint::NewTensor> tensors;
  for (std::int64_t t = 0; t < count; ++t)
    tensors.push_back({fmt::format("layers.{}.weight", t), DType::bf16, {kRows, kColumns}});
  checkpoint::SafetensorsWriter writer(path, tensors);
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(kRows * kColumns));
  std::uint64_t state = 1;
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::uint16_t& code : codes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      float sum = 0;
      for (int i = 0; i < 8; ++i) sum += static_cast<float>(state >> (8 * i) & 0xff) - 127.5f;
      code = f32_to_bf16(sum * 1e-4f);
    }
    writer.append(std::as_bytes(std::span(codes)));
  }
  writer.finish();
}

Seconds read_seconds(const fs::path& path, int threads) {
  constexpr std::int64_t kChunk = std::int64_t{1} << 20;
  const checkpoint::DataFile file = checkpoint::DataFile::open(path);
  return seconds([&] {
    each_on_threads({div_ceil(file.bytes(), kChunk), threads}, [&](std::int64_t chunk) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(kChunk, file.bytes() - chunk * kChunk)));
      file.read(chunk * kChunk, bytes);
    });
  });
}

Seconds verify_seconds(const checkpoint::TensorFiles& files, const checkpoint::TensorFiles* source,
                       int threads) {
  const auto all = [](const std::string&) { return true; };
  Request request{.files = files, .source = source, .is_chosen = all};
  request.options.threads = threads;
  const Contents contents = contents_of(files, all);
  bool holds = false;
  const Seconds spent = seconds([&] { holds = verify_checkpoint(request, contents).holds(); });
  if (!holds) fmt::print("it does not hold\n");
  return spent;
}

void measure(const fs::path& folder, std::int64_t mebibytes, std::string_view recipe) {
  fs::create_directory(folder);
  const fs::path in = folder / "bf16.safetensors", out = folder / "codes.safetensors";
  write_weights(in, mebibytes);
  for (const int threads : {1, 2}) {
    const checkpoint::TensorFiles source(in);
    checkpoint::QuantizePlan plan{.recipe = recipe::find_recipe(recipe)};
    plan.tensors = tensors_to_quantize(source, *plan.recipe, [](const std::string&) { return true; });
    const Seconds quantize = seconds([&] { write_quantized(source, plan, out, {.threads = threads}); });
    const Seconds read_in = read_seconds(in, threads), read_out = read_seconds(out, threads);
    const checkpoint::TensorFiles files(out);
    const Seconds alone = verify_seconds(files, nullptr, threads);
    const Seconds against = verify_seconds(files, &source, threads);
    const double from = static_cast<double>(fs::file_size(in)) / 1e9;
    const double codes = static_cast<double>(fs::file_size(out)) / 1e9;
    fmt::print("{}, {} thread{}, {:.2f} GB of bf16; GB/s read by the clock, and a core that works\n", recipe,
               threads, threads == 1 ? "" : "s", from);
    fmt::print("  quantize         {}\n  verify           {}, plain reads of it {}\n", rate(from, quantize),
               rate(codes, alone), rate(codes, read_out));
    fmt::print("  verify --against {}, plain reads of both {}\n", rate(from + codes, against),
               rate(from + codes, {read_in.clock + read_out.clock, read_in.cores + read_out.cores}));
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace shardcheck::verify

int main(int argc, char** argv) {
  if (argc != 4 || shardcheck::recipe::find_recipe(argv[3]) == nullptr) {
    fmt::print(stderr, "usage: verify_rate FOLDER MEBIBYTES RECIPE\n");
    return 2;
  }
  shardcheck::verify::measure(argv[1], std::atoll(argv[2]), argv[3]);
  return 0;
}
