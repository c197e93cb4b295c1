#include "tools/shardcheck/fp8/verify_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/numerics/decode.h"
#include "tools/shardcheck/fp8/values.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/table.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

using verify::BrokenBlock;
using verify::Example;
using verify::Kind;
using verify::TensorReport;

std::string range_text(std::string_view noun, layout::Range range) {
  if (range.numel() == 1) return fmt::format("{} {}", noun, range.lo);
  return fmt::format("{}s {}..{}", noun, range.lo, range.hi - 1);
}

std::string block_text(const TensorReport& report, const Example& example) {
  if (report.grid.numel() == 1) return "the whole tensor is one block";
  return fmt::format("block ({}, {}) of {} x {}: {}, {}", example.at.rows, example.at.columns,
                     report.grid.rows, report.grid.columns, range_text("row", example.rows),
                     range_text("column", example.columns));
}

std::string scale_value(const TensorReport& report, float value, std::uint32_t stored) {
  const int digits = report.scale_format == FormatId::f32 ? 8 : 2;
  return fmt::format("{} (0x{:0{}x})", value, stored, digits);
}

std::string scale_line(const TensorReport& report, const Example& example) {
  const BrokenBlock& broken = example.broken;
  const std::string actual = scale_value(report, example.inverse, broken.scale);
  if (!report.has_source) return fmt::format("{}", actual);
  const std::string expected = scale_value(report, example.right_inverse, broken.right_scale);
  if (broken.scale == broken.right_scale) return fmt::format("{}, as expected", actual);
  return fmt::format("expected {}, actual {}", expected, actual);
}

/// "expected 112 (0x6e), actual 120 (0x6f) at element (401, 688), which is 0.0123 in the source".
std::string code_line(const TensorReport& report, const Example& example) {
  const BrokenBlock& broken = example.broken;
  const Format& format = format_of(report.elements);
  const std::string place = fmt::format("element ({}, {})", broken.element / report.extent.columns,
                                        broken.element % report.extent.columns);
  if (!report.has_source)
    return fmt::format("{} at {}; {} in the block", value_text(format, broken.code), place,
                       counted(broken.wrong_codes, "such code"));
  return fmt::format("expected {}, actual {} at {}, {} in the source; {} wrong in the block",
                     value_text(format, broken.right_code), value_text(format, broken.code), place,
                     example.source, counted(broken.wrong_codes, "code"));
}

std::string largest_line(const TensorReport& report, const Example& example) {
  const Format& format = format_of(report.elements);
  const verify::LargestCodes& allowed = example.broken.allowed;
  const std::string high = value_text(format, allowed.high);
  const std::string wanted =
      allowed.low == allowed.high ? high : fmt::format("{} to {}", value_text(format, allowed.low), high);
  return fmt::format("expected {}, actual {}", wanted, value_text(format, example.broken.largest));
}

std::string example_text(const Terminal& terminal, const TensorReport& report, const Example& example,
                         const std::string& detail) {
  std::string text = labelled(
      terminal, "where", block_text(report, example) + (detail.empty() ? "" : fmt::format(" [{}]", detail)));
  text += labelled(terminal, "scale", scale_line(report, example));
  if (example.broken.clause == "F23")
    text += labelled(terminal, "largest code", largest_line(report, example));
  if (example.broken.element >= 0) text += labelled(terminal, "code", code_line(report, example));
  return text;
}

std::string kind_text(const Terminal& terminal, const TensorReport& report, const Kind& kind) {
  const std::int64_t examined = report.explanation.examined;
  const std::string count =
      examined == report.sweep.broken_blocks
          ? counted(kind.blocks, "block")
          : fmt::format("{} of {} examined", grouped(kind.blocks), counted(examined, "block"));
  std::string text =
      labelled(terminal, kind.clause, paint(terminal, Tone::strong, kind.sentence) + ": " + count);
  for (const std::string& other : kind.alternatives) text += labelled(terminal, "or", other);
  for (std::size_t i = 0; i < kind.examples.size(); ++i)
    text += example_text(terminal, report, report.examples[kind.examples[i]], kind.details[i]);
  return text;
}

std::string counts_text(const TensorReport& report) {
  const verify::Sweep& sweep = report.sweep;
  std::string text = fmt::format("{} of {}", grouped(sweep.broken_blocks), counted(sweep.blocks, "block"));
  if (!report.has_source) return text;
  return text + fmt::format(", {}, {} wrong", counted(sweep.wrong_scales, "scale"),
                            counted(sweep.wrong_codes, "code"));
}

std::string verdict_of(const TensorReport& report) {
  if (!report.is_judged) return "not judged";
  return report.holds() ? "held" : "BROKEN";
}

Tone tone_of(const TensorReport& report) {
  if (!report.is_judged) return Tone::warning;
  return report.holds() ? Tone::good : Tone::bad;
}

void add_row(Table& table, const TensorReport& report) {
  const bool has_codes = report.extent.numel() > 0;
  const auto number = [&](std::int64_t value) { return has_codes ? grouped(value) : std::string("-"); };
  std::set<std::string> clauses;
  for (const verify::Problem& problem : report.problems) clauses.insert(problem.clause);
  for (const Kind& kind : report.explanation.kinds) clauses.insert(kind.clause);
  table.row({report.name,
             report.recipe.empty() ? "-" : report.recipe,
             has_codes ? fmt::format("{} x {}", report.extent.rows, report.extent.columns) : "-",
             number(report.sweep.blocks),
             number(report.sweep.broken_blocks),
             {verdict_of(report), tone_of(report)},
             fmt::format("{}", fmt::join(clauses, " "))});
}

}  // namespace

std::string tensor_text(const Terminal& terminal, const TensorReport& report) {
  const Tone tone = tone_of(report);
  std::string text = paint(terminal, tone, report.name);
  if (report.sweep.broken_blocks > 0)
    text += fmt::format(": {} x {} {}, {}: {}", report.extent.rows, report.extent.columns,
                        format_of(report.elements).name, report.recipe, counts_text(report));
  text += "\n";
  for (const verify::Problem& problem : report.problems)
    text += labelled(terminal, problem.clause.empty() ? "differs" : problem.clause, problem.sentence);
  for (const Kind& kind : report.explanation.kinds) text += kind_text(terminal, report, kind);
  if (!report.explanation.places_tried)
    text += labelled(terminal, "not tried", "transposed and shifted codes: the tensor does not fit memory");
  return text;
}

std::string summary_text(const Terminal& terminal, const verify::Report& report) {
  constexpr std::int64_t kMostRows = 30;
  const bool is_short = std::ssize(report.tensors) <= kMostRows;
  Table table({"tensor", "recipe", "codes", ">blocks", ">broken", "verdict", "clauses"});
  std::int64_t rows = 0, left_out = 0;
  const auto add = [&](const TensorReport& each) {
    const bool is_shown = is_short || (!each.holds() && rows < kMostRows);
    if (is_shown) add_row(table, each);
    (is_shown ? rows : left_out) += 1;
  };
  for (const TensorReport& each : report.tensors) add(each);
  for (const TensorReport& each : report.copied) add(each);
  std::string text = rows > 0 ? table.text(terminal) : "";
  if (left_out > 0 && rows > 0) text += fmt::format("and {}\n", counted(left_out, "tensor"));
  return text;
}

std::string choice_text(const Terminal& terminal, const verify::Report& report) {
  std::string text;
  std::set<std::string> told;
  for (const TensorReport& each : report.tensors) {
    if (each.equals.empty() || !told.insert(each.recipe).second) continue;
    text += wrap(fmt::format("{} explains the most of a sample, and so do {}; --recipe names one",
                             each.recipe, fmt::join(each.equals, ", ")),
                 {.width = terminal.width, .indent = 2}) +
            "\n";
  }
  return text;
}

}  // namespace shardcheck::fp8
