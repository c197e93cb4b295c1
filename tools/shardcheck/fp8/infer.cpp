// shardcheck fp8 infer: which policy a black box follows, from pairs of an input and the code that came out.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <ostream>
#include <sstream>

#include "core/error.h"
#include "tools/shardcheck/fp8/explanation.h"
#include "tools/shardcheck/fp8/subverbs.h"
#include "tools/shardcheck/fp8/values.h"
#include "tools/shardcheck/options.h"
#include "tools/shardcheck/report.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck::fp8 {
namespace {

struct Asked {
  const Format& format;
  DType source;
  std::string file;  ///< as sentences name it
  std::vector<ObservedCast> observed;
};

/// A code in hexadecimal, with or without 0x.
std::uint32_t code_in(const std::string& word, const Format& format, const std::string& where) {
  char* end = nullptr;
  const unsigned long code = std::strtoul(word.c_str(), &end, 16);
  const bool is_whole = end == word.c_str() + word.size() && word.front() != '-' && word.front() != '+';
  if (is_whole && code < format.code_count()) return static_cast<std::uint32_t>(code);
  throw bad_input(where, fmt::format("\"{}\" is not a code of {}: two are {} and {}", word, format.name,
                                     code_text(format, 0), code_text(format, format.code_count() - 1)));
}

/// The bits in hexadecimal, with or without 0x.
std::uint32_t input_bits(const std::string& word, DType source, const std::string& where) {
  const bool has_prefix = word.starts_with("0x") || word.starts_with("0X");
  return input_in(has_prefix ? word : "0x" + word, source, where).f32_bits;
}

/// Lines of two words; empty ones and what stands behind # are skipped. Blanks or commas stand between.
void read_pairs(std::istream& stream, Asked& asked) {
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<std::string> found;
    for (std::string word; words >> word;) found.push_back(word);
    if (found.empty()) continue;
    const std::string where = fmt::format("{} line {}", asked.file, number);
    if (found.size() != 2)
      throw bad_input(where,
                      fmt::format("two hexadecimal numbers are expected, the bits of the input and the code "
                                  "that came out, not {}: for example 43e80001 7e",
                                  found.size()));
    asked.observed.push_back(
        {input_bits(found[0], asked.source, where), code_in(found[1], asked.format, where)});
  }
  if (asked.observed.empty())
    throw bad_input(asked.file,
                    "there is no pair; a line has the bits of the input and the code that came out, for "
                    "example 43e80001 7e");
}

std::string pair_text(const Asked& asked, const ObservedCast& pair) {
  return fmt::format("{} ({}) became {}", fmt::format("{}", std::bit_cast<float>(pair.f32_bits)),
                     bits_text(pair.f32_bits), value_text(asked.format, pair.code));
}

bool has_name(const NamedCast& cast) {
  return std::ranges::any_of(named_casts(cast.format),
                             [&](const NamedCast& named) { return named.name == cast.name; });
}

/// What one would have to try to tell the first explanation from each of the others.
std::string telling_text(const Terminal& terminal, const std::vector<NamedCast>& explaining) {
  std::string text;
  for (std::size_t i = 1; i < explaining.size(); ++i) {
    const NamedCast &first = explaining.front(), &other = explaining[i];
    const Format& format = format_of(first.format);
    const auto bits = input_that_tells(first, other);
    const std::string tell =
        bits ? fmt::format("{} ({}): {} gives {}, {} gives {}", std::bit_cast<float>(*bits), bits_text(*bits),
                           first.name, value_text(format, first.code_of(*bits)), other.name,
                           value_text(format, other.code_of(*bits)))
             : fmt::format("nothing: {} and {} are the same in {}", first.name, other.name, format.name);
    text += labelled(terminal, i == 1 ? "would tell" : "", tell);
  }
  return text;
}

/// Only named casts are told apart one by one: combinations of parts are many.
std::string explained_text(const Terminal& terminal, const std::vector<NamedCast>& explaining) {
  std::vector<NamedCast> named;
  std::ranges::copy_if(explaining, std::back_inserter(named), has_name);
  const std::vector<NamedCast>& shown = named.empty() ? explaining : named;
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i)
    text += labelled(terminal, i == 0 ? "explained by" : "", paint(terminal, Tone::good, shown[i].name));
  if (named.empty()) return text + labelled(terminal, "", "no policy with a name does; these are its parts");
  const std::size_t others = explaining.size() - named.size();
  if (others > 0)
    text += labelled(terminal, "",
                     fmt::format("and {} of parts without a name",
                                 counted(static_cast<std::int64_t>(others), "combination")));
  return text + telling_text(terminal, named);
}

/// Other formats that explain everything: a code read in the wrong format looks like a strange policy.
std::string other_formats(const Terminal& terminal, const Asked& asked) {
  std::string text;
  for (const Format& format : kFormats) {
    if (format.id == asked.format.id || format.width() != asked.format.width()) continue;
    const auto casts = named_casts(format.id);
    const Explanation explanation = explain(casts, asked.observed);
    if (explanation.explaining.empty()) continue;
    text += labelled(terminal, "but",
                     fmt::format("{} by {} explains every pair: was the format another one?", format.name,
                                 explanation.explaining.front().name));
  }
  return text;
}

}  // namespace

ExitStatus infer(Session& session, const Arguments& arguments) {
  std::vector<std::string> files;
  std::string format = "e4m3", from = "f32";
  Options options({"fp8 infer", "[FILE] [flags]", "which policy explains given inputs and codes"});
  options.arguments(files,
                    {"FILE", "", "a pair a line, in hexadecimal: 43e80001 7e; without FILE, standard input"});
  options.flag(format, {"format", "NAME", "of the codes"});
  options.flag(from, {"from", "TYPE", "of the inputs: f32, bf16, f16"});
  options.note("Exit status 1 when no policy explains every pair.");
  if (!options.parse(arguments, session)) return ExitStatus::held;
  if (files.size() > 1)
    throw bad_input("shardcheck fp8 infer", fmt::format("one file is read, not {}", files.size()));
  Asked asked{narrow_format(format, "--format"), source_type(from, "--from"), "standard input", {}};
  if (files.empty() || files.front() == "-") {
    read_pairs(std::cin, asked);
  } else {
    asked.file = files.front();
    std::ifstream file(asked.file);
    if (!file) throw bad_input(asked.file, "cannot be read");
    read_pairs(file, asked);
  }
  const Terminal terminal = terminal_of(session.out);
  const Explanation explanation = explain(possible_casts(asked.format.id), asked.observed);
  session.out << paint(
                     terminal, Tone::strong,
                     fmt::format("{} to {}", counted(std::ssize(asked.observed), "pair"), asked.format.name))
              << "\n";
  if (!explanation.explaining.empty()) {
    session.out << explained_text(terminal, explanation.explaining);
    return ExitStatus::held;
  }
  session.out << labelled(terminal, "explained by", paint(terminal, Tone::bad, "no policy"));
  for (std::size_t i = 0; i < explanation.contradiction.size(); ++i)
    session.out << labelled(terminal, i == 0 ? "because" : "",
                            pair_text(asked, asked.observed[explanation.contradiction[i]]));
  session.out << other_formats(terminal, asked);
  return ExitStatus::broken;
}

}  // namespace shardcheck::fp8
