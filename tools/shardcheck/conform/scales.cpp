// Recorded scales (fp8 9): scale_from_amax as a table, and delayed scaling step by step.
#include "core/recipe/scales.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/recipe/delayed.h"
#include "tools/shardcheck/conform/conform.h"
#include "tools/shardcheck/conform/csv_table.h"
#include "tools/shardcheck/conform/json_fields.h"

namespace shardcheck {
namespace {

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// Appends a sentence where two fp32 numbers have other bits.
struct Sentence {
  std::string text;
  void compare(std::string_view what, std::pair<std::uint32_t, float> recorded_and_computed) {
    const auto [recorded, computed] = recorded_and_computed;
    if (recorded == bits_of(computed)) return;
    text += fmt::format("{}{}: recorded 0x{:08x}, computed 0x{:08x}", text.empty() ? "" : "; ", what,
                        recorded, bits_of(computed));
  }
};

void close_case(ConformReport& report, std::string id, Sentence sentence) {
  ++report.cases;
  if (sentence.text.empty()) {
    ++report.agreements;
  } else {
    report.disagreements.push_back({std::move(id), std::move(sentence.text)});
  }
}

void compare_step(const JsonFields& step, const recipe::DelayedOptions& options,
                  recipe::DelayedScaling& state, Sentence& sentence) {
  sentence.compare("scale used", {step.hex32("scale_used_bits"), state.scale});
  const float chosen = recipe::close_step(options, state, float_of(step.hex32("amax_bits")));
  sentence.compare("amax selected", {step.hex32("amax_selected_bits"), chosen});
  sentence.compare("next scale", {step.hex32("scale_next_bits"), state.scale});
  sentence.compare("next scale inverse", {step.hex32("scale_inv_next_bits"), state.scale_inverse});
  const auto history = step.hex_list("history_after");
  if (history.size() != state.history.size())
    step.refuse("history_after", fmt::format("{} amaxes", state.history.size()));
  for (std::size_t i = 0; i < history.size(); ++i)
    sentence.compare(fmt::format("history[{}]", i), {history[i], state.history[i]});
}

recipe::DelayedOptions delayed_options(const JsonFields& entry) {
  const std::string choice = entry.text("algo"), zero = entry.text("zero_amax_step");
  if (choice != "max" && choice != "most_recent") entry.refuse("algo", "max or most_recent");
  if (zero != "keep" && zero != "roll") entry.refuse("zero_amax_step", "keep or roll");
  return {.history_length = entry.integer("history_len", 1),
          .choice = choice == "max" ? recipe::AmaxChoice::max : recipe::AmaxChoice::most_recent,
          .zero_step = zero == "keep" ? recipe::ZeroStep::keep : recipe::ZeroStep::roll,
          .margin = static_cast<int>(entry.integer("margin", 0)),
          .largest = static_cast<float>(entry.number("fp8_max"))};
}

}  // namespace

std::optional<ConformReport> conform_scales(const std::filesystem::path& csv_file) {
  CsvTable table(csv_file);
  if (table.columns() != std::vector<std::string>{"amax_bits", "fp8_max", "epsilon", "pow2",
                                                  "value_for_inf_bits", "scale_bits", "scale_inv_bits"})
    return std::nullopt;
  table.read_rows();
  ConformReport report{.file = csv_file.string(), .kind = "recorded scales"};
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool power = table.number(row, 3) != 0;
    const float scale =
        recipe::scale_from_amax({.largest = static_cast<float>(table.number(row, 1)),
                                 .epsilon = float_of(table.hex(row, 2)),
                                 .power_of_two = power ? recipe::PowerOfTwo::down : recipe::PowerOfTwo::no,
                                 .value_for_infinity = float_of(table.hex(row, 4))},
                                float_of(table.hex(row, 0)));
    Sentence sentence;
    sentence.compare("scale", {table.hex(row, 5), scale});
    sentence.compare("scale inverse", {table.hex(row, 6), 1.0f / scale});
    close_case(report, fmt::format("line {}, amax {}", row + 2, table.text(row, 0)), std::move(sentence));
  }
  return report;
}

std::optional<ConformReport> conform_delayed(const std::filesystem::path& json_file) {
  const nlohmann::json document = json_document(json_file);
  if (!document.is_object() || !document.contains("cases") || !document["cases"].is_array() ||
      document["cases"].empty() || !document["cases"][0].is_object() ||
      !document["cases"][0].contains("history_len"))
    return std::nullopt;
  ConformReport report{.file = json_file.string(), .kind = "recorded delayed scaling"};
  for (const JsonFields& entry : JsonFields(document, json_file.string() + ": ").objects("cases")) {
    const recipe::DelayedOptions options = delayed_options(entry);
    recipe::DelayedScaling state = recipe::first_step(options);
    for (const JsonFields& step : entry.objects("steps")) {
      Sentence sentence;
      compare_step(step, options, state, sentence);
      close_case(report, step.place(), std::move(sentence));
    }
  }
  return report;
}

}  // namespace shardcheck
