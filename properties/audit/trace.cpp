#include "properties/audit/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/checkpoint/safetensors.h"
#include "core/error.h"
#include "core/files.h"
#include "core/numerics/narrow.h"
#include "sim/scenario/json_text.h"

namespace shardcheck {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kSchema = 1;
constexpr std::int64_t kMostJsonBytes = std::int64_t{1} << 28;
constexpr std::string_view kOutcomes[] = {"finished", "deadline", "stopped", "raised", "died"};
constexpr std::string_view kTraced[] = {"grad", "param", "probe"};

json parse(const fs::path& path) {
  if (!fs::exists(path))
    throw bad_input(path.string(), "is missing; the trace is not whole (did the probe end before its time?)");
  const std::string text = read_text(path, kMostJsonBytes);
  check_json_text(text, path.string());
  try {
    return json::parse(text);
  } catch (const json::exception&) {
    throw bad_input(path.string(), "is truncated, or no JSON at all");
  }
}

/// A field of that type; sentences name `where`.
template <class T>
T field(const json& object, const char* name, const std::string& where) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end())
    throw bad_input(where, fmt::format("the field \"{}\" is missing", name));
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    throw bad_input(where,
                    fmt::format("\"{}\" is {}, which has the wrong type", name, found->dump().substr(0, 40)));
  }
}

void expect_schema(const json& object, const std::string& where) {
  const auto schema = field<std::int64_t>(object, "schema", where);
  if (schema != kSchema)
    throw bad_input(where, fmt::format("schema version {} is unknown; this shardcheck reads version {}",
                                       schema, kSchema));
}

template <std::size_t n>
std::size_t position(const std::string_view (&names)[n], const std::string& name, const std::string& where) {
  const auto* found = std::ranges::find(names, name);
  if (found == std::end(names))
    throw bad_input(where, fmt::format("\"{}\" is unknown; known are {}", name, fmt::join(names, ", ")));
  return static_cast<std::size_t>(found - names);
}

CollectiveEvent event_from(const json& object, const std::string& where) {
  CollectiveEvent event{.kind = field<std::string>(object, "kind", where),
                        .reduction = object.value("reduction", ""),
                        .dtype = field<std::string>(object, "dtype", where),
                        .phase = field<std::string>(object, "phase", where)};
  event.group = field<std::vector<std::int32_t>>(object, "group", where);
  event.sent = field<std::int64_t>(object, "sent", where);
  event.received = field<std::int64_t>(object, "received", where);
  event.step = field<std::int32_t>(object, "step", where);
  event.microbatch = field<std::int32_t>(object, "microbatch", where);
  event.completed = field<bool>(object, "completed", where);
  return event;
}

std::vector<float> values_of(const checkpoint::SafetensorsFile& file, const checkpoint::TensorEntry& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.end - tensor.begin));
  file.read(tensor, 0, bytes);
  std::vector<float> values(static_cast<std::size_t>(tensor.numel));
  const std::size_t size = bytes.size() / std::max<std::size_t>(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    const auto code = static_cast<std::uint16_t>(bits);
    const DType type = *tensor.type.dtype;
    values[i] = type == DType::f32    ? std::bit_cast<float>(bits)
                : type == DType::bf16 ? bf16_to_f32(code)
                                      : f16_to_f32(code);
  }
  return values;
}

/// The tensors of one rank.
class TensorReader {
 public:
  TensorReader(const AuditCase& audited, const fs::path& data)
      : scenario_(audited.scenario), file_(data), probes_(probes_of(audited)) {}

  TracedTensor read(const json& entry, const std::string& where) const {
    TracedTensor tensor;
    tensor.what = static_cast<Traced>(position(kTraced, field<std::string>(entry, "what", where), where));
    const std::int64_t steps = tensor.what == Traced::probe ? probes_ : scenario_.steps;
    tensor.step = static_cast<std::int32_t>(index(entry, "step", steps, where));
    tensor.parameter =
        static_cast<std::int32_t>(index(entry, "parameter", std::ssize(scenario_.parameters), where));
    tensor.first = field<std::int64_t>(entry, "first", where);
    const auto found = entry.find("tensor");
    if (found == entry.end() || found->is_null()) return tensor;
    tensor.is_present = true;
    const auto name = field<std::string>(entry, "tensor", where);
    const checkpoint::TensorEntry* stored = file_.header().find(name);
    if (stored == nullptr)
      throw bad_input(file_.path().string(),
                      fmt::format("has no tensor \"{}\", which {} names", name, where));
    fill(tensor, *stored);
    return tensor;
  }

 private:
  static std::int64_t probes_of(const AuditCase& audited) {
    const Scenario& s = audited.scenario;
    return audited.probing ? 1 + std::ssize(s.uses) * s.ranks * s.microbatches : 0;
  }
  static std::int64_t index(const json& entry, const char* name, std::int64_t count,
                            const std::string& where) {
    const auto value = field<std::int64_t>(entry, name, where);
    if (value < 0 || value >= count)
      throw bad_input(where, fmt::format("\"{}\" is {}; the case has {} of them, 0 to {}", name, value, count,
                                         count - 1));
    return value;
  }
  void fill(TracedTensor& tensor, const checkpoint::TensorEntry& stored) const {
    const std::string where = fmt::format("{}: tensor \"{}\"", file_.path().string(), stored.name);
    const auto type = stored.type.dtype;
    if (type != DType::f32 && type != DType::bf16 && type != DType::f16)
      throw bad_input(where, fmt::format("holds {}; a gradient is F32, BF16 or F16", stored.type.name));
    const ScenarioParameter& p = scenario_.parameters[static_cast<std::size_t>(tensor.parameter)];
    if (tensor.first < 0 || tensor.first + stored.numel > p.numel())
      throw bad_input(where,
                      fmt::format("has the wrong shape: elements {} to {} of parameter {}, which has {}",
                                  tensor.first, tensor.first + stored.numel, p.name, p.numel()));
    tensor.dtype = *type;
    tensor.values = values_of(file_, stored);
  }

  const Scenario& scenario_;
  checkpoint::SafetensorsFile file_;
  std::int64_t probes_;
};

RankTrace rank_from(const fs::path& folder, const AuditCase& audited, std::int32_t rank) {
  const fs::path path = folder / fmt::format("rank-{}.json", rank);
  const json root = parse(path);
  const std::string where = path.string();
  expect_schema(root, where);
  RankTrace trace{.rank = field<std::int32_t>(root, "rank", where)};
  if (trace.rank != rank) throw bad_input(where, fmt::format("is the trace of rank {}", trace.rank));
  trace.outcome =
      static_cast<Outcome>(position(kOutcomes, field<std::string>(root, "outcome", where), where));
  trace.error = field<std::string>(root, "error", where);
  trace.waiting = field<std::vector<std::string>>(root, "waiting", where);
  const json collectives = field<json>(root, "collectives", where);
  for (std::size_t i = 0; i < collectives.size(); ++i)
    trace.collectives.push_back(event_from(collectives[i], fmt::format("{}: collectives[{}]", where, i)));
  const json tensors = field<json>(root, "tensors", where);
  if (tensors.empty()) return trace;
  const fs::path data = folder / fmt::format("rank-{}.safetensors", rank);
  if (!fs::exists(data)) throw bad_input(data.string(), "is missing; the trace is not whole");
  const TensorReader reader(audited, data);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    trace.tensors.push_back(reader.read(tensors[i], fmt::format("{}: tensors[{}]", where, i)));
  return trace;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  return kOutcomes[static_cast<int>(outcome)];
}

std::string to_text(const CollectiveEvent& event) {
  return fmt::format("{}{}{} {}, {} -> {} elements, step {}, microbatch {}, {}", event.kind,
                     event.reduction.empty() ? "" : " ", event.reduction, event.dtype, event.sent,
                     event.received, event.step, event.microbatch, event.phase);
}

AuditTrace read_trace(const fs::path& folder) {
  if (!fs::is_directory(folder))
    throw bad_input(folder.string(), "is no folder; give a trace that tools/probe wrote");
  const fs::path path = folder / "manifest.json";
  const json root = parse(path);
  const std::string where = path.string();
  expect_schema(root, where);
  if (field<std::string>(root, "kind", where) != "shardcheck-trace")
    throw bad_input(where, "is not the manifest of a trace");
  AuditTrace trace;
  trace.audited = audit_case_from_json(field<json>(root, "case", where).dump(), where + ": case");
  trace.device = field<std::string>(root, "device", where);
  trace.rate = field<double>(root, "rate", where);
  trace.versions = field<std::map<std::string, std::string>>(root, "versions", where);
  const auto ranks = field<std::int32_t>(root, "ranks", where);
  if (ranks != trace.audited.scenario.ranks)
    throw bad_input(
        where, fmt::format("says {} ranks, and its scenario has {}", ranks, trace.audited.scenario.ranks));
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    trace.ranks.push_back(rank_from(folder, trace.audited, rank));
  return trace;
}

}  // namespace shardcheck
