#include "tools/shardcheck/wording.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "sim/scenario/scenario.h"

namespace shardcheck {

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto at = std::ssize(digits) - 3; at > first; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string counted(std::int64_t number, std::string_view noun) {
  if (number == 1) return fmt::format("1 {}", noun);
  if (noun.ends_with("ch")) return fmt::format("{} {}es", grouped(number), noun);
  if (noun.ends_with("ty") || noun.ends_with("try"))
    return fmt::format("{} {}ies", grouped(number), noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}s", grouped(number), noun);
}

std::string ranks_text(const Scenario& scenario) {
  const std::string ranks = counted(scenario.ranks, "rank");
  return scenario.stages == 1 ? ranks : fmt::format("{} of {}", counted(scenario.stages, "stage"), ranks);
}

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60;
  if (seconds < 0.1) return fmt::format("{:.3f} s", seconds);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < static_cast<long long>(2 * kMinute)) return fmt::format("{} s", whole);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string clauses_text(std::span<const std::string_view> clauses) {
  constexpr std::size_t kShortestRun = 3;
  const auto number_of = [&](std::size_t i) { return std::atoi(clauses[i].substr(1).data()); };
  std::string text;
  for (std::size_t i = 0; i < clauses.size();) {
    std::size_t end = i + 1;
    while (end < clauses.size() && clauses[end][0] == clauses[i][0] &&
           number_of(end) == number_of(end - 1) + 1)
      ++end;
    const bool is_run = end - i >= kShortestRun;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", clauses[i],
                        is_run ? fmt::format("..{}", clauses[end - 1]) : "");
    i = is_run ? end : i + 1;
  }
  return text;
}

std::string shell_quoted(const std::string& argument) {
  constexpr std::string_view plain = "-_./:=,+@%";
  bool is_plain = !argument.empty();
  std::string quoted = "'";
  for (const char c : argument) {
    const bool alphanumeric = std::isalnum(static_cast<unsigned char>(c)) != 0;
    is_plain = is_plain && (alphanumeric || plain.find(c) != std::string_view::npos);
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return is_plain ? argument : quoted + "'";
}

}  // namespace shardcheck
