// Wording: numbers and counts as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardcheck {

struct Scenario;

/// 120000 -> "120,000".
std::string grouped(std::int64_t number);

/// "1 case", "120,000 cases", "2 microbatches", "3 properties".
std::string counted(std::int64_t number, std::string_view noun);

/// "2 ranks", "2 stages of 4 ranks".
std::string ranks_text(const Scenario& scenario);

/// "0.004 s", "1.9 s", "41 s", "3 min 20 s".
std::string seconds_text(double seconds);

/// The argument as a shell reads it back: unchanged, or in single quotes.
std::string shell_quoted(const std::string& argument);

/// "W4 W17", and "L1..L27" for three or more of consecutive numbers.
std::string clauses_text(std::span<const std::string_view> clauses);

}  // namespace shardcheck
