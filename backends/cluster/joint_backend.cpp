#include "backends/cluster/joint_backend.h"

#include <algorithm>

#include "backends/cluster/local_plan.h"
#include "backends/cluster/verdict.h"
#include "core/error.h"

namespace shardcheck {
namespace {

/// Elements that travel in one call.
constexpr std::int64_t kPieceNumel = std::int64_t{1} << 22;

/// All ranks in reach of read.
class Whole final : public Backend {
 public:
  Whole(Backend& joint, Backend& part, Transport& transport)
      : joint_(joint), part_(part), transport_(transport) {}

  BackendInfo info() const override { return joint_.info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { joint_.execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    if (part_.holds(plan, rank)) part_.write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override;

 private:
  Backend& joint_;
  Backend& part_;
  Transport& transport_;
  std::vector<std::byte> mine_;
};

void Whole::read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) {
  const int size = bytes_of(plan.buffer(view.buffer).dtype);
  for (std::int64_t at = 0; at < view.numel; at += kPieceNumel) {
    const View piece{view.buffer, view.offset + at, std::min(kPieceNumel, view.numel - at)};
    mine_.clear();
    if (part_.holds(plan, rank)) {
      mine_.resize(static_cast<std::size_t>(piece.numel * size));
      part_.read(plan, rank, piece, mine_);
    }
    const Gathered& all = transport_.all_gather(mine_, {.what = "reading from rank", .number = rank.value});
    const auto wanted =
        bytes.subspan(static_cast<std::size_t>(at * size), static_cast<std::size_t>(piece.numel * size));
    if (all.bytes.size() != wanted.size()) {
      throw Error(ErrorKind::machine_cannot, "cluster: a rank is held by no process, or by two");
    }
    std::ranges::copy(all.bytes, wanted.begin());
  }
}

class JointBackend final : public Joint {
 public:
  JointBackend(std::unique_ptr<Backend> part, Transport& transport)
      : part_(std::move(part)), transport_(transport), whole_(*this, *part_, transport) {}

  BackendInfo info() const override { return part_->info(); }
  bool holds(const Plan& plan, Rank rank) const override { return part_->holds(plan, rank); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override {
    if (first.value == 0) {
      transport_.barrier({.what = "starting a plan", .digest = cluster::digest_of(plan)});
    }
    part_->execute(plan, first, last);
  }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    part_->write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    part_->read(plan, rank, view, bytes);
  }
  std::vector<Finding> agree(const std::vector<Finding>& mine) override {
    return shardcheck::agree(transport_, mine);
  }
  Backend& whole() override { return whole_; }

 private:
  std::unique_ptr<Backend> part_;
  Transport& transport_;
  Whole whole_;
};

/// Joint::whole with its owner.
class OwnedWhole final : public Backend {
 public:
  explicit OwnedWhole(std::unique_ptr<Joint> joint) : joint_(std::move(joint)), whole_(joint_->whole()) {}

  BackendInfo info() const override { return whole_.info(); }
  void execute(const Plan& plan, OpIndex first, OpIndex last) override { whole_.execute(plan, first, last); }
  void write(const Plan& plan, Rank rank, View view, std::span<const std::byte> bytes) override {
    whole_.write(plan, rank, view, bytes);
  }
  void read(const Plan& plan, Rank rank, View view, std::span<std::byte> bytes) override {
    whole_.read(plan, rank, view, bytes);
  }

 private:
  std::unique_ptr<Joint> joint_;
  Backend& whole_;
};

}  // namespace

std::unique_ptr<Joint> make_joint_backend(std::unique_ptr<Backend> part, Transport& transport) {
  return std::make_unique<JointBackend>(std::move(part), transport);
}

std::unique_ptr<Backend> make_whole_backend(std::unique_ptr<Joint> joint) {
  return std::make_unique<OwnedWhole>(std::move(joint));
}

}  // namespace shardcheck
