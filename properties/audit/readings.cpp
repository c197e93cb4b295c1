#include "properties/audit/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/oracle/oracle.h"
#include "sim/oracle/provenance.h"

namespace shardcheck {
namespace {

struct Times {
  std::int32_t least = 0, most = 0;
};

/// Counts of one reader, by position of the contribution among those of its parameter.
using Counts = std::map<std::int64_t, Times>;

class Readout {
 public:
  explicit Readout(const AuditTrace& trace)
      : trace_(trace), data_(trace.audited.scenario), oracle_(trace.audited.scenario, data_) {}

  GradientReading of(std::int32_t step, std::int32_t parameter) const {
    GradientReading reading{.step = step, .parameter = parameter};
    std::vector<Counts> counts;
    for (const RankTrace& rank : trace_.ranks) {
      for (const TracedTensor& tensor : rank.tensors) {
        if (tensor.what != Traced::gradient || tensor.step != step || tensor.parameter != parameter) continue;
        reading.readers.push_back({rank.rank, tensor.is_present, tensor.first, tensor.last()});
        counts.push_back(counts_in(tensor, reading.readers.back()));
      }
    }
    if (!parameter_at(parameter).trainable) return reading;
    for (std::int64_t index = 0; index < data_.count_of(parameter); ++index) add(reading, counts, index);
    return reading;
  }

 private:
  const ScenarioParameter& parameter_at(std::int32_t parameter) const {
    return trace_.audited.scenario.parameters[static_cast<std::size_t>(parameter)];
  }

  std::int32_t expected(const ContributionKey& key, std::int32_t step) const {
    return key.step == step && contributes(trace_.audited.scenario, key) ? 1 : 0;
  }

  /// Every element that decodes says something about every contribution of its lane.
  Counts counts_in(const TracedTensor& tensor, Reader& reader) const {
    Counts counts;
    const auto& coding = data_.coding(tensor.parameter);
    if (!coding) return counts;
    const double scale = oracle_.scale_of(tensor.parameter);
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      const std::int64_t element = tensor.first + static_cast<std::int64_t>(i);
      const auto wrong = decode(trace_.audited.scenario, data_, tensor.parameter, tensor.step, reader.rank,
                                element, static_cast<double>(tensor.values[i]), scale);
      if (!wrong) {
        ++reader.undecoded;
        continue;
      }
      const std::int64_t lane = lane_digit(parameter_at(tensor.parameter), *coding, element).lane;
      for (std::int64_t k = lane; k < data_.count_of(tensor.parameter); k += coding->lanes) {
        const ContributionKey key = data_.key_of(tensor.parameter, reader.rank, k);
        std::int32_t times = expected(key, tensor.step);
        for (const Multiplicity& m : *wrong) times = data_.index_of(m.key) == k ? m.times : times;
        const auto known = counts.try_emplace(k, Times{times, times}).first;
        known->second = {std::min(known->second.least, times), std::max(known->second.most, times)};
      }
    }
    return counts;
  }

  void add(GradientReading& reading, const std::vector<Counts>& counts, std::int64_t index) const {
    ReadContribution read{.key = data_.key_of(reading.parameter, 0, index)};
    read.expected = expected(read.key, reading.step);
    bool is_there = read.key.step == reading.step;
    for (const Counts& of_reader : counts) {
      const auto found = of_reader.find(index);
      if (found == of_reader.end()) {
        read.times.emplace_back();
        continue;
      }
      const auto [least, most] = found->second;
      is_there |= most > 0;
      read.times.push_back(least == most ? std::to_string(most) : fmt::format("{} to {}", least, most));
    }
    if (is_there) reading.contributions.push_back(std::move(read));
  }

  const AuditTrace& trace_;
  ScenarioData data_;
  Oracle oracle_;
};

}  // namespace

std::vector<GradientReading> readings_of(const AuditTrace& trace) {
  const Readout readout(trace);
  const Scenario& s = trace.audited.scenario;
  std::vector<GradientReading> readings;
  for (std::int32_t step = 0; step < s.steps; ++step) {
    for (std::int32_t p = 0; p < std::ssize(s.parameters); ++p) {
      GradientReading reading = readout.of(step, p);
      if (!reading.readers.empty()) readings.push_back(std::move(reading));
    }
  }
  return readings;
}

}  // namespace shardcheck
