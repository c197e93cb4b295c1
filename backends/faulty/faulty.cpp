#include "backends/faulty/faulty.h"

#include <fmt/format.h>

#include <utility>

namespace shardcheck {
namespace {

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, const NumericFault& fault)
      : inner_(std::move(inner)), fault_(fault) {}

  BackendInfo info() const override {
    BackendInfo info = inner_->info();
    info.name = fmt::format("faulty({}, {})", info.name, fault_.name);
    return info;
  }

  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    OpIndex pending = first;  // ops [pending, i) have not run yet
    for (OpIndex i = first; i < last; ++i.value) {
      const Op& op = plan.ops[static_cast<std::size_t>(i.value)];
      if (!fault_.touches(op.action)) continue;
      if (pending < i) inner_->execute(plan, pending, i);
      fault_.execute(*inner_, plan, i);
      pending = OpIndex{i.value + 1};
    }
    if (pending < last) inner_->execute(plan, pending, last);
  }

  bool holds(const Plan& plan, Rank rank) const override { return inner_->holds(plan, rank); }

  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
  }

 private:
  std::unique_ptr<Backend> inner_;
  const NumericFault& fault_;
};

}  // namespace

std::unique_ptr<Backend> make_faulty_backend(std::unique_ptr<Backend> inner, const NumericFault& fault) {
  return std::make_unique<FaultyBackend>(std::move(inner), fault);
}

}  // namespace shardcheck
