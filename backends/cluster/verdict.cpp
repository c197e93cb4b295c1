#include "backends/cluster/verdict.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "core/error.h"

namespace shardcheck {
namespace {

/// One description of the fields serves both directions: `Stream` appends them or takes them.
template <class Stream, class Value>
void visit_sighting(Stream& stream, Value& sighting) {
  stream(sighting.value);
  stream(sighting.bits);
  stream(sighting.dtype);
}

template <class Stream, class Value>
void visit_finding(Stream& stream, Value& finding) {
  stream(finding.clause);
  stream(finding.sentence);
  stream(finding.op.value);
  stream(finding.op_text);
  stream(finding.stream);
  stream(finding.rank);
  stream(finding.step);
  stream(finding.microbatch);
  stream(finding.parameter);
  stream(finding.parameter_name);
  stream(finding.element);
  stream(finding.has_values);
  visit_sighting(stream, finding.expected);
  visit_sighting(stream, finding.actual);
  stream(finding.provenance);
  stream(finding.history);
  stream(finding.reproduce);
}

class Appending {
 public:
  template <class Number>
  requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void operator()(const Number& number) {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint64_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void operator()(const std::vector<std::string>& texts) {
    (*this)(static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) (*this)(text);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Taking {
 public:
  explicit Taking(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class Number>
  requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void operator()(Number& number) { std::memcpy(&number, next(sizeof(number)).data(), sizeof(number)); }
  void operator()(bool& value) { value = next(1)[0] != std::byte{0}; }
  void operator()(DType& type) {
    type = static_cast<DType>(next(1)[0]);
    if (type > DType::u8) refuse();
  }
  void operator()(std::string& text) {
    const auto bytes = next(count());
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void operator()(std::vector<std::string>& texts) {
    texts.resize(count());
    for (std::string& text : texts) (*this)(text);
  }
  /// Of things that take a byte at least, so that a wrong count asks for no memory.
  std::uint64_t count() {
    std::uint64_t count = 0;
    (*this)(count);
    if (count > left_.size()) refuse();
    return count;
  }
  void finish() const {
    if (!left_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::machine_cannot, "cluster: a process sent a verdict that cannot be read");
  }
  std::span<const std::byte> next(std::uint64_t size) {
    if (size > left_.size()) refuse();
    const auto bytes = left_.first(size);
    left_ = left_.subspan(size);
    return bytes;
  }

  std::span<const std::byte> left_;
};

/// Ascending gravity of the exit codes (tools/shardcheck/session.h); one that is not here is as grave as our
/// own mistake.
constexpr std::array kGravity{0, 4, 130, 1, 2, 3, 70};

}  // namespace

std::vector<std::byte> to_bytes(const std::vector<Finding>& findings) {
  Appending stream;
  stream(static_cast<std::uint64_t>(findings.size()));
  for (const Finding& finding : findings) visit_finding(stream, finding);
  return stream.take();
}

std::vector<Finding> findings_from_bytes(std::span<const std::byte> bytes) {
  std::vector<Finding> findings;
  Taking stream(bytes);
  for (std::uint64_t left = stream.count(); left > 0; --left) visit_finding(stream, findings.emplace_back());
  stream.finish();
  return findings;
}

std::vector<Finding> agree(Transport& transport, const std::vector<Finding>& mine) {
  const Gathered& gathered = transport.all_gather(to_bytes(mine), {.what = "gathering verdicts"});
  std::vector<Finding> all;
  std::vector<std::vector<std::byte>> seen;  // what is found in the plan itself, every process finds
  for (int process = 0; process < transport.processes(); ++process) {
    for (Finding& finding : findings_from_bytes(gathered.of(process))) {
      Appending bytes;
      visit_finding(bytes, finding);
      seen.push_back(bytes.take());
      const bool is_new = std::ranges::find(seen, seen.back()) == std::prev(seen.end());
      if (is_new) all.push_back(std::move(finding));
    }
  }
  return all;
}

bool agree_on_any(Transport& transport, bool mine) {
  const std::byte byte{mine};
  const Gathered& gathered = transport.all_gather({&byte, 1}, {.what = "agreeing on the next turn"});
  return std::ranges::find(gathered.bytes, std::byte{1}) != gathered.bytes.end();
}

int agree_on_exit(Transport& transport, int mine) {
  const auto bytes = std::as_bytes(std::span(&mine, 1));
  const Gathered& gathered = transport.all_gather(bytes, {.what = "agreeing on the exit status"});
  const auto gravity = [](int status) { return std::ranges::find(kGravity, status) - kGravity.begin(); };
  int gravest = 0;  // not `mine`: among statuses of one gravity all processes must choose the same
  for (int process = 0; process < transport.processes(); ++process) {
    int theirs = 0;
    const auto status = gathered.of(process);
    if (status.size() != sizeof(theirs)) {
      throw Error(ErrorKind::machine_cannot, "cluster: a process sent an exit status that cannot be read");
    }
    std::memcpy(&theirs, status.data(), sizeof(theirs));
    if (gravity(theirs) > gravity(gravest)) gravest = theirs;
  }
  return gravest;
}

}  // namespace shardcheck
