// Backend: a machine that executes ops. Four calls, so that backends compose: `faulty` and `shadow` are
// backends made of backends. Values move only through write and read; ops may run asynchronously between
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/plan/plan.h"

namespace shardcheck {

/// What a backend is, for reports.
struct BackendInfo {
  std::string name;     ///< "cpu", "cuda", "faulty(cpu, truncate)"
  std::string device;   ///< one line about the machine
  std::string profile;  ///< arithmetic of its GEMMs: "ideal", "hopper", or "unknown"
  /// Parts that the ranks are folded onto: it decides the order in which reductions add.
  std::int32_t fold = 1;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual BackendInfo info() const = 0;

  /// True when the bytes of `rank` are in reach of write and read; false where another process has them.
  virtual bool holds(const Plan&, Rank) const { return true; }

  /// Executes the ops [first, last) of `plan`, in the order that its streams and events allow. Buffers live
  /// from their Allocate until the next Allocate of the same id: a plan executed from op 0 starts afresh.
  virtual void execute(const Plan& plan, OpIndex first, OpIndex last) = 0;

  /// Copies `bytes` into `view` on `rank`, ordered before later ops. The size must be that of the view.
  virtual void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) = 0;

  /// Copies the content of `view` on `rank` to `bytes` after all ops executed so far have finished.
  virtual void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) = 0;
};

/// A backend on loan: its deleter gives it back to whoever lends it, or destroys it.
using LentBackend = std::unique_ptr<Backend, std::function<void(Backend*)>>;

}  // namespace shardcheck
