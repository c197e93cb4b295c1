#include "tools/shardcheck/backend_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/registry.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {

void add_flags(Options& options, BackendChoice& choice) {
  options.flag(choice.backend, {"backend", "NAME",
                                "machine that executes the ops: cpu, cuda, faulty:NAME (`shardcheck list "
                                "backends`)"});
  options.flag(choice.against,
               {"against", "NAME",
                "a second machine that must leave the same bits: finished gradients are compared "
                "in every case, op by op where they differ"});
  options.flag(choice.profile, {"profile", "NAME",
                                "arithmetic of the CPU's GEMMs: ideal (exact sums, rounded once) or hopper "
                                "(the tensor cores of an H200); hopper beside a GPU, else ideal"});
  options.flag(choice.comm_timeout,
               {"comm-timeout", "SECONDS",
                "how long a process waits for the others of its launch, and a collective among GPUs "
                "for its peers, before all end with exit status 3 [60 for processes, 120 for GPUs]"});
}

std::string BackendChoice::spec() const {
  return against.empty() ? backend : fmt::format("shadow:{},{}", against, backend);
}

std::string BackendChoice::arithmetic() const {
  if (!profile.empty()) return profile;
  return backend == "cuda" || against == "cuda" ? "hopper" : "ideal";
}

namespace {

std::optional<std::chrono::milliseconds> timeout_of(const BackendChoice& choice) {
  constexpr double kLongest = 1e7;  // a season, which a clock can count in nanoseconds
  if (!choice.comm_timeout) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(std::min(*choice.comm_timeout, kLongest)));
}

class Lender {
 public:
  Lender(const BackendChoice& choice, Processes& processes) : choice_(choice), processes_(processes) {
    take_back(make());
  }

  std::unique_ptr<Backend> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Backend> backend = std::move(idle_.back());
        idle_.pop_back();
        return backend;
      }
    }
    return make();
  }
  void take_back(std::unique_ptr<Backend> backend) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(backend));
  }

 private:
  std::unique_ptr<Backend> make() const {
    const BackendOptions options{.profile = choice_.arithmetic(), .comm_timeout = timeout_of(choice_)};
    if (Transport* transport = processes_.transport())
      return make_backend(choice_.spec(), options, *transport);
    return make_backend(choice_.spec(), options);
  }

  const BackendChoice choice_;
  Processes& processes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Backend>> idle_;
};

}  // namespace

void meet(Session& session, BackendChoice& choice) {
  session.processes.meet(timeout_of(choice));
  choice.processes = session.processes.count();
}

/// The lender is shared: by all copies of the function and by every backend on loan.
std::function<LentBackend()> factory_of(const BackendChoice& choice, Processes& processes) {
  return [lender = std::make_shared<Lender>(choice, processes)] {
    const auto give_back = [lender](Backend* backend) {
      std::unique_ptr<Backend> owned(backend);
      // Where something was thrown, the machine may be in any state.
      if (std::uncaught_exceptions() == 0) lender->take_back(std::move(owned));
    };
    return LentBackend(lender->take().release(), give_back);
  };
}

std::string flags_text(const BackendChoice& choice) {
  const BackendChoice preset;
  std::string text;
  if (choice.backend != preset.backend) text += " --backend " + shell_quoted(choice.backend);
  if (choice.against != preset.against) text += " --against " + shell_quoted(choice.against);
  if (choice.profile != preset.profile) text += " --profile " + shell_quoted(choice.profile);
  return text;
}

std::string describe(const BackendChoice& choice) {
  const std::string pair = choice.against.empty() ? "" : " against " + choice.against;
  const std::string several = choice.processes > 1 ? fmt::format(", {} processes", choice.processes) : "";
  return fmt::format("{}{} ({}){}", choice.backend, pair, choice.arithmetic(), several);
}

}  // namespace shardcheck
