#include "tools/shardcheck/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ostream>
#include <random>

#include "core/error.h"
#include "tools/shardcheck/nearest.h"
#include "tools/shardcheck/table.h"

namespace shardcheck {
namespace {

std::string dashed(const std::string& name) {
  return "--" + name;
}

/// The number that is the whole of the text, or nothing.
template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

Error not_a(const std::string& where, const std::string& value, const std::string& expected) {
  return bad_input(where, fmt::format("\"{}\" is not {}", value, expected));
}

std::uint64_t random_seed() {
  std::random_device device;
  return device();
}

bool is_given(const std::vector<std::string>& arguments, const std::string& name) {
  const std::string flag = dashed(name);
  return std::ranges::any_of(arguments,
                             [&](const auto& word) { return word == flag || word.starts_with(flag + "="); });
}

/// What CLI11 reads: raw words a flag.
struct Raw {
  std::vector<CLI::Option*> flags;
  std::vector<std::vector<std::string>> values;
};

}  // namespace

std::string variable_of(const std::string& flag) {
  std::string name = "SHARDCHECK_";
  for (const char c : flag)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

void Options::add(Shown shown, std::string preset,
                  std::function<void(const std::string&, const std::string&)> accept) {
  flags_.push_back({std::move(shown), std::move(preset), false, false,
                    [accept = std::move(accept)](const std::string& where, const auto& values) {
                      accept(where, values.back());
                    }});
}

void Options::flag(std::string& target, Shown shown) {
  add(std::move(shown), target, [&target](const std::string&, const std::string& value) { target = value; });
}

void Options::flag(bool& target, Shown shown) {
  flags_.push_back(
      {std::move(shown), "", false, true, [&target](const std::string& where, const auto& values) {
         if (values.back() != "true" && values.back() != "1" && values.back() != "0")
           throw not_a(where, values.back(), "1 or 0");
         target = values.back() != "0";
       }});
}

void Options::flag(std::vector<std::string>& target, Shown shown) {
  flags_.push_back({std::move(shown), "", true, false, [&target](const std::string&, const auto& values) {
                      target.insert(target.end(), values.begin(), values.end());
                    }});
}

void Options::flag(std::int64_t& target, Between range, Shown shown) {
  const bool has_preset = target >= range.low;
  add(std::move(shown), has_preset ? fmt::format("{}", target) : "",
      [&target, range](const std::string& where, const std::string& value) {
        const auto number = number_in<std::int64_t>(value);
        if (!number || *number < range.low || *number > range.high)
          throw not_a(where, value, fmt::format("a whole number from {} to {}", range.low, range.high));
        target = *number;
      });
}

void Options::flag(std::optional<double>& target, Shown shown) {
  add(std::move(shown), "", [&target](const std::string& where, const std::string& value) {
    const auto number = number_in<double>(value);
    if (!number || !std::isfinite(*number) || *number <= 0) throw not_a(where, value, "a number above 0");
    target = *number;
  });
}

void Options::seed(std::uint64_t& target) {
  add({"seed", "N", "where the random cases begin; the word random draws one"}, fmt::format("{}", target),
      [&target](const std::string& where, const std::string& value) {
        const auto number = number_in<std::uint64_t>(value);
        if (!number && value != "random")
          throw not_a(where, value, "a whole number from 0 to 18446744073709551615 or the word random");
        target = number ? *number : random_seed();
      });
}

void Options::arguments(std::vector<std::string>& target, Shown shown) {
  arguments_ = Flag{std::move(shown), "", true, false, [&target](const std::string&, const auto& values) {
                      target.insert(target.end(), values.begin(), values.end());
                    }};
}

void Options::argument(std::string& target, Shown shown) {
  const auto accept = [&target, verb = "shardcheck " + verb_.name](const std::string& name,
                                                                   const std::vector<std::string>& values) {
    if (values.empty())
      throw bad_input(verb, fmt::format("{} is missing; `{} --help` says more", name, verb));
    if (values.size() > 1)
      throw bad_input(verb, fmt::format("one {} is expected, not {}: \"{}\", \"{}\"", name, values.size(),
                                        values[0], values[1]));
    target = values.front();
  };
  arguments_ = Flag{std::move(shown), "", false, false, accept};
}

void Options::refuse_unknown(const std::vector<std::string>& words) const {
  if (words.empty()) return;
  const std::string verb = "shardcheck " + verb_.name;
  const auto flag = std::ranges::find_if(words, [](const auto& word) { return word.starts_with('-'); });
  if (flag == words.end())
    throw bad_input(verb, fmt::format("the argument \"{}\" was not expected; `{} --help` says more",
                                      words.front(), verb));
  std::vector<std::string> known = {"--help"};
  for (const Flag& each : flags_) known.push_back(dashed(each.shown.name));
  throw bad_input(
      verb, unknown_name({flag->substr(0, flag->find('=')), "flag", std::move(known), verb + " --help"}));
}

/// True also behind a flag that still lacks its value; behind "--" all words are arguments.
bool Options::asks_for_help(const std::vector<std::string>& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  return std::any_of(arguments.begin(), end,
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

bool Options::parse(const std::vector<std::string>& arguments, Session& session) const {
  if (asks_for_help(arguments)) {
    session.out << help();
    return false;
  }
  CLI::App app;
  app.allow_extras();
  app.set_help_flag();
  Raw raw;
  raw.values.resize(flags_.size());
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    const std::string name = dashed(flags_[i].shown.name);
    CLI::Option* option = flags_[i].is_switch ? app.add_flag(name, raw.values[i])
                                              : app.add_option(name, raw.values[i])->expected(1);
    option->allow_extra_args(false)->envname(variable_of(flags_[i].shown.name));
    option->multi_option_policy(flags_[i].is_repeatable ? CLI::MultiOptionPolicy::TakeAll
                                                        : CLI::MultiOptionPolicy::TakeLast);
    if (flags_[i].is_repeatable) option->delimiter(',');
    raw.flags.push_back(option);
  }
  std::vector<std::string> positional;
  if (arguments_) app.add_option("arguments", positional);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    throw bad_input(what.substr(0, what.find(':')), "a value is expected behind this flag");
  } catch (const CLI::ParseError& error) {
    throw bad_input("shardcheck " + verb_.name, error.what());
  }
  std::vector<std::string> strangers = app.remaining();
  std::erase(strangers, "--");  // behind it all words are arguments; the mark itself is none
  refuse_unknown(strangers);
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    if (raw.values[i].empty()) continue;
    const std::string& name = flags_[i].shown.name;
    const std::string where = is_given(arguments, name) ? dashed(name) : variable_of(name);
    if (std::ranges::any_of(raw.values[i], &std::string::empty)) throw bad_input(where, "the value is empty");
    const auto is_flag = [](const std::string& value) { return value.starts_with("--"); };
    if (std::ranges::any_of(raw.values[i], is_flag))
      throw bad_input(where, "a value is expected behind this flag");
    flags_[i].accept(where, raw.values[i]);
  }
  if (arguments_) arguments_->accept(arguments_->shown.name, positional);
  return true;
}

std::string Options::help() const {
  const Terminal plain{};
  std::string text = fmt::format("shardcheck {}: {}\n\nUsage: shardcheck {} {}\n", verb_.name, verb_.summary,
                                 verb_.name, verb_.usage);
  Table table({"", "", ""});
  if (arguments_) table.row({"", arguments_->shown.name, arguments_->shown.help});
  for (const Flag& flag : flags_) {
    const std::string preset = flag.preset.empty() ? "" : fmt::format(" [{}]", flag.preset);
    table.row(
        {"", fmt::format("{} {}", dashed(flag.shown.name), flag.shown.value), flag.shown.help + preset});
  }
  text += table.text(plain);
  if (!flags_.empty())
    text += fmt::format("\nDefaults stand in [brackets]. A flag overrides its variable: {} is --{}.\n",
                        variable_of(flags_.back().shown.name), flags_.back().shown.name);
  for (const std::string& note : notes_) text += fmt::format("\n{}\n", wrap(note, {.width = plain.width}));
  return text;
}

}  // namespace shardcheck
