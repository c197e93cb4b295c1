#include "properties/stretches.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "core/assert.h"

namespace shardcheck {
namespace {

class Workers {
 public:
  Workers(std::int64_t count, const RunOptions& options, const Stretch& stretch)
      : count_(count), options_(options), stretch_(stretch), first_failing_(count) {
    if (options.seconds) {
      const auto allowed = std::chrono::duration<double>(*options.seconds);
      end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(allowed);
    }
  }

  std::vector<StretchReport> run() {
    SC_ASSERT(!options_.anywhere || options_.threads == 1, "one thread a process where there are several");
    std::vector<std::thread> threads;
    for (std::int32_t t = 1; t < options_.threads; ++t) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    if (thrown_) std::rethrow_exception(thrown_);
    if (options_.progress) options_.progress(done_);
    std::vector<StretchReport> reports;
    for (auto& [number, report] : reports_) {
      if (number <= first_failing_) reports.push_back(std::move(report));
    }
    return reports;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void work() {
    try {
      LentBackend backend;  // made for a first stretch: with fewer stretches than threads, some need none
      while (true) {
        const std::int64_t number = next_++;
        if (number >= count_ || is_over(number)) return;
        if (backend == nullptr) backend = options_.make_backend();
        keep(number, stretch_(number, {*backend, [&] { return is_over(number); }, [&] { count_case(); }}));
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
      failed_ = true;
    }
  }

  bool is_over(std::int64_t number) const {
    if (failed_ || number > first_failing_) return true;
    const bool here = (options_.stop != nullptr && *options_.stop) || (end_ && Clock::now() >= *end_);
    return options_.anywhere ? options_.anywhere(here) : here;
  }

  void keep(std::int64_t number, StretchReport report) {
    const std::lock_guard lock(mutex_);
    if (report.failing) first_failing_ = std::min<std::int64_t>(first_failing_, number);
    reports_.emplace(number, std::move(report));
  }

  void count_case() {
    constexpr std::int64_t kBetweenCalls = 64;
    const std::int64_t done = ++done_;
    if (!options_.progress || done % kBetweenCalls != 0) return;
    const std::unique_lock lock(progress_mutex_, std::try_to_lock);
    if (lock) options_.progress(done);
  }

  const std::int64_t count_;
  const RunOptions& options_;
  const Stretch& stretch_;
  std::optional<Clock::time_point> end_;
  std::atomic<std::int64_t> next_ = 0, done_ = 0, first_failing_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_, progress_mutex_;
  std::map<std::int64_t, StretchReport> reports_;
  std::exception_ptr thrown_;
};

}  // namespace

std::vector<StretchReport> run_stretches(std::int64_t count, const RunOptions& options,
                                         const Stretch& stretch) {
  return Workers(count, options, stretch).run();
}

}  // namespace shardcheck
