#include "tools/shardcheck/junit_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/shardcheck/report.h"

namespace shardcheck {
namespace {

struct Tally {
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
};

std::string failure_of(const std::string& message, const std::string& text) {
  return fmt::format("      <failure message=\"{}\">{}</failure>\n", xml_escaped(message), xml_escaped(text));
}

std::string body_of(const PropertyResult& result, Tally& tally) {
  const Verdict verdict = verdict_of(result);
  if (verdict == Verdict::held) return "";
  if (verdict == Verdict::broken) {
    ++tally.failures;
    const Failure& failure = *result.report.failure;
    const std::string message = failure.findings.empty() ? "broken" : headline(failure.findings.front());
    return failure_of(message, failure_text(Terminal{}, result));
  }
  ++tally.errors;
  return fmt::format(
      "      <error message=\"{}\"/>\n",
      xml_escaped(result.report.interrupted ? "interrupted"
                                            : fmt::format("required situations not reached: {}",
                                                          fmt::join(result.report.missing, "; "))));
}

std::string test_case(const std::string& group, const std::string& name, double seconds,
                      const std::string& body) {
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                       xml_escaped(group), xml_escaped(name), seconds);
  return body.empty() ? head + "/>\n" : head + ">\n" + body + "    </testcase>\n";
}

std::string kept_case(const KeptResult& kept, const std::string& group, Tally& tally) {
  std::string body;
  if (!kept.findings.empty()) {
    ++tally.failures;
    std::string text;
    for (const Finding& finding : kept.findings) text += headline(finding) + "\n";
    body = failure_of(headline(kept.findings.front()), text);
  }
  return test_case(group, kept.file, 0, body);
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (byte < 0x20 && c != '\n' && c != '\t') {
      escaped += '?';
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string junit_report(const CheckResult& result) {
  const std::string suite = "shardcheck " + result.verb;
  const std::string group = "shardcheck." + result.backend.backend;
  Tally tally;
  std::string cases;
  for (const KeptResult& kept : result.kept) cases += kept_case(kept, group + ".kept", tally);
  for (const PropertyResult& each : result.properties)
    cases += test_case(group, std::string(each.property->id), each.report.seconds, body_of(each, tally));
  for (const std::string& id : result.skipped) cases += test_case(group, id, 0, "      <skipped/>\n");
  tally.skipped = std::ssize(result.skipped);
  tally.tests = std::ssize(result.kept) + std::ssize(result.properties) + tally.skipped;
  const std::string counts =
      fmt::format("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                  suite, tally.tests, tally.failures, tally.errors, tally.skipped, result.seconds);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {}>\n    <properties>\n"
      "      <property name=\"seed\" value=\"{}\"/>\n      <property name=\"backend\" value=\"{}\"/>\n"
      "      <property name=\"profile\" value=\"{}\"/>\n    </properties>\n{}  </testsuite>\n</testsuites>\n",
      counts, counts, result.seed, xml_escaped(result.backend.backend),
      xml_escaped(result.backend.arithmetic()), cases);
}

}  // namespace shardcheck
