// Backends that the tests of this folder pair: the CPU under a profile, told to declare another; one that
// digests and counts what is fetched.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/faulty/faulty.h"
#include "backends/shadow/shadow_backend.h"
#include "core/digest.h"

namespace shardcheck::test {

/// The CPU, which says of itself what it is told to.
class Declaring final : public Backend {
 public:
  Declaring(std::unique_ptr<Backend> inner, std::string profile, std::int32_t fold = 1)
      : inner_(std::move(inner)), profile_(std::move(profile)), fold_(fold) {}
  BackendInfo info() const override { return {"declaring", "none", profile_, fold_}; }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { inner_->execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    inner_->read(plan, rank, view, bytes);
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::string profile_;
  std::int32_t fold_;
};

/// Digests as a device would; counts the bytes that are fetched from it.
class DigestingCpu final : public Backend, public Digesting {
 public:
  explicit DigestingCpu(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  BackendInfo info() const override { return inner_->info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { inner_->execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    inner_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    fetched += std::ssize(bytes);
    inner_->read(plan, rank, view, bytes);
  }
  std::vector<std::uint64_t> digests(const Plan& plan, std::span<const Rank> ranks,
                                     std::span<const View> views) override {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < views.size(); ++i) {
      const DType type = plan.buffer(views[i].buffer).dtype;
      std::vector<std::byte> bytes(static_cast<std::size_t>(views[i].numel * bytes_of(type)));
      inner_->read(plan, ranks[i], views[i], bytes);
      all.push_back(digest_of(type, bytes));
    }
    return all;
  }

  std::int64_t fetched = 0;

 private:
  std::unique_ptr<Backend> inner_;
};

inline std::unique_ptr<Backend> faulty(const std::string& fault, const ArithmeticProfile& profile = kIdeal) {
  return make_faulty_backend(make_cpu_backend(profile), *find_numeric_fault(fault));
}

}  // namespace shardcheck::test
