#include "tools/shardcheck/processes.h"

#include <fmt/format.h>

#include <exception>
#include <string_view>

#include "backends/cluster/verdict.h"
#include "core/assert.h"

namespace shardcheck {
namespace {

std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What a process says when the roll is called: how it ended already, then what it was given.
struct Answer {
  char kind = 0;  ///< of the Error; 0: none
  std::string text;

  std::string sent() const { return kind + text; }
  static Answer from(std::span<const std::byte> bytes) {
    const std::string sent = text_of(bytes);
    return sent.empty() ? Answer{} : Answer{sent.front(), sent.substr(1)};
  }
};

}  // namespace

void Processes::call_the_roll(const TransportOptions& options, const Error* mine) {
  has_begun_ = true;
  transport_ = make_transport(launch_, options);
  const Answer answer =
      mine == nullptr ? Answer{0, command_} : Answer{static_cast<char>(mine->kind()), mine->what()};
  const std::string sent = answer.sent();
  const Gathered& all = transport_->all_gather(bytes_of_text(sent), {.what = "calling the roll"});
  if (mine != nullptr) return;
  for (int process = 0; process < count(); ++process) {
    const Answer theirs = Answer::from(all.of(process));
    if (theirs.kind != 0)
      throw Error(static_cast<ErrorKind>(theirs.kind), fmt::format("process {}: {}", process, theirs.text));
  }
  const Answer first = Answer::from(all.of(0));
  for (int process = 1; process < count(); ++process) {
    const Answer theirs = Answer::from(all.of(process));
    if (theirs.text == first.text) continue;
    throw Error(
        ErrorKind::machine_cannot,
        fmt::format("process {} was started as `{}`, process 0 as `{}`: all processes of a launch must "
                    "be given the same",
                    process, theirs.text, first.text));
  }
}

void Processes::meet(std::optional<std::chrono::milliseconds> comm_timeout) {
  SC_ASSERT(!has_begun_, "the processes meet once");
  TransportOptions options;
  if (comm_timeout) options.comm_timeout = *comm_timeout;
  if (are_several()) call_the_roll(options, nullptr);
}

bool Processes::anywhere(bool here) {
  return transport_ == nullptr ? here : agree_on_any(*transport_, here);
}

std::string Processes::of_first(const std::string& mine) {
  if (transport_ == nullptr) return mine;
  return text_of(transport_->broadcast(bytes_of_text(mine), {.what = "hearing from process 0"}));
}

ExitStatus Processes::end(ExitStatus mine) {
  if (transport_ == nullptr) return mine;
  return static_cast<ExitStatus>(agree_on_exit(*transport_, static_cast<int>(mine)));
}

bool Processes::fail(const Error& error) noexcept {
  if (!are_several()) return false;
  try {
    if (!has_begun_) {
      call_the_roll({}, &error);
      return true;
    }
    if (transport_ == nullptr) return false;
    const std::string_view sentence = error.what();
    const bool is_told = transport_->failure().has_value();
    if (!is_told) transport_->fail(fmt::format("process {}: {}", launch_.process, sentence));
  } catch (const std::exception&) {
    // Nobody hears; this process says it itself.
  }
  return false;
}

}  // namespace shardcheck
