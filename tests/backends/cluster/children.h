// Children: processes that a test starts and waits for, with what they printed. No wait is without a
// deadline; a child that is late is killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cluster/launch.h"
#include "backends/cluster/socket.h"
#include "backends/cluster/transport.h"

namespace shardcheck::test {

/// How a child ended.
struct Ended {
  int status = 0;      ///< exit status, or 128 + the signal
  std::string output;  ///< standard output and standard error
  bool was_late = false;
};

class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children();

  /// Runs body() in a fork, which exits with what it returns.
  void start(const std::function<int()>& body);
  /// Runs a program with these variables added to the environment; those of a launcher are taken out first.
  struct Program {
    std::vector<std::string> arguments;  ///< the first is its path
    std::vector<std::pair<std::string, std::string>> variables;
  };
  void start(const Program& program);

  /// Sends the signal to child `index`.
  void signal(std::size_t index, int number) const;
  /// Waits until child `index` has printed that text; false when it ended without it, or was late.
  bool wait_for_text(std::size_t index, const std::string& text,
                     std::chrono::milliseconds at_most = std::chrono::seconds(60));
  /// Waits for child `index`, at most this long.
  Ended wait(std::size_t index, std::chrono::milliseconds at_most = std::chrono::seconds(60));
  std::vector<Ended> wait_for_all();

 private:
  struct Child {
    pid_t id = -1;
    int output = -1;
    std::string printed;  ///< as far as it was read
  };
  /// Reads what it prints next. False when it has ended, or when the deadline came first.
  static bool read_more(Child& child, const cluster::Deadline& deadline);
  std::vector<Child> children_;
};

/// A port of 127.0.0.1 on which nobody listens.
int free_port();

/// Process `process` of `processes` that meet at a port of this machine.
Launch launch_at(int port, int process, int processes);

/// What a process did before it ended: 0, or 3 after an Error, whose sentence is printed.
using Conversation = std::function<void(Transport& transport)>;
int converse(const Launch& launch, const TransportOptions& options, const Conversation& conversation);

/// One child a process, each in the conversation.
void start_conversation(Children& children, int processes, const TransportOptions& options,
                        const Conversation& conversation);

/// For conversations: prints and ends the process with status 1 when the condition does not hold.
void require(bool condition, const std::string& what);

}  // namespace shardcheck::test
