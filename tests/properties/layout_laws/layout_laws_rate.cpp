// Measures the laws: random cases over all layouts on several threads. Prints one line a layout, the quirks
// that showed, and every finding beyond them with the number that reproduces it. Exit status 1 when there is
// one.
//   layout_laws_rate CASES THREADS SEED [FIRST]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "properties/layout_laws/quirks.h"
#include "properties/layout_laws/random_case.h"

namespace shardcheck::laws {
namespace {

struct Tally {
  std::int64_t cases = 0, rejected = 0, moved = 0, failed = 0;
};

struct Result {
  std::map<std::string, Tally> layouts;
  std::map<std::string, std::int64_t> quirks;
  std::vector<std::string> failures;
};

void add(const Case& drawn, const Verdict& verdict, std::int64_t number, Result& result) {
  Tally& tally = result.layouts[drawn.asked.layout];
  ++tally.cases;
  tally.rejected += verdict.rejected;
  tally.moved += verdict.moved_bytes;
  for (const LawFinding& finding : verdict.findings) {
    if (!finding.quirk.empty()) {
      ++result.quirks[fmt::format("{} {} {}", finding.layout, finding.law, finding.quirk)];
      continue;
    }
    ++tally.failed;
    if (result.failures.size() < 40) {
      result.failures.push_back(
          fmt::format("case {}: {}\n    {}", number, to_text(finding), to_text(drawn.asked)));
    }
  }
}

void merge(const Result& from, Result& into) {
  for (const auto& [name, tally] : from.layouts) {
    Tally& sum = into.layouts[name];
    sum = {sum.cases + tally.cases, sum.rejected + tally.rejected, sum.moved + tally.moved,
           sum.failed + tally.failed};
  }
  for (const auto& [name, count] : from.quirks) into.quirks[name] += count;
  into.failures.insert(into.failures.end(), from.failures.begin(), from.failures.end());
}

int run(std::int64_t cases, std::int64_t threads, std::uint64_t seed, std::int64_t first) {
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> next{first};
  std::mutex mutex;
  Result result;
  std::vector<std::jthread> pool;
  for (std::int64_t t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      Result mine;
      constexpr std::int64_t kBatch = 256;
      for (std::int64_t from = next.fetch_add(kBatch); from < first + cases; from = next.fetch_add(kBatch)) {
        for (std::int64_t i = from; i < std::min(from + kBatch, first + cases); ++i) {
          const Case drawn = random_case(seed, static_cast<std::uint64_t>(i));
          add(drawn, judge(drawn), i, mine);
        }
      }
      const std::lock_guard lock(mutex);
      merge(mine, result);
    });
  }
  pool.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{:<24} {:>10} {:>10} {:>10} {:>10}\n", "layout", "cases", "refused", "bytes", "findings");
  std::int64_t failed = 0;
  for (const auto& [name, tally] : result.layouts) {
    fmt::print("{:<24} {:>10} {:>10} {:>10} {:>10}\n", name, tally.cases, tally.rejected, tally.moved,
               tally.failed);
    failed += tally.failed;
  }
  for (const auto& [name, count] : result.quirks) fmt::print("declared quirk {:<40} {:>10}\n", name, count);
  for (const std::string& failure : result.failures) fmt::print("{}\n", failure);
  fmt::print("{} cases in {:.1f} s on {} threads: {:.0f} cases/s, {} findings beyond declared quirks\n",
             cases, seconds, threads, static_cast<double>(cases) / seconds, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shardcheck::laws

int main(int argc, char** argv) {
  const auto number = [&](int i, std::int64_t otherwise) {
    return argc > i ? std::atoll(argv[i]) : otherwise;
  };
  return shardcheck::laws::run(number(1, 100000), number(2, 2), static_cast<std::uint64_t>(number(3, 1)),
                               number(4, 0));
}
