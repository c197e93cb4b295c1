#include "tests/backends/cluster/children.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "core/assert.h"
#include "core/error.h"

namespace shardcheck::test {
namespace {

constexpr const char* kLauncherVariables[] = {"RANK",
                                              "WORLD_SIZE",
                                              "LOCAL_RANK",
                                              "MASTER_ADDR",
                                              "MASTER_PORT",
                                              "TORCHELASTIC_USE_AGENT_STORE",
                                              "OMPI_COMM_WORLD_RANK",
                                              "OMPI_COMM_WORLD_SIZE",
                                              "OMPI_COMM_WORLD_LOCAL_RANK"};

}  // namespace

Children::~Children() {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    signal(i, SIGKILL);
    wait(i);
  }
}

void Children::start(const std::function<int()>& body) {
  std::array<int, 2> ends{};
  SC_ASSERT(::pipe(ends.data()) == 0, "no pipe");
  std::fflush(nullptr);
  const pid_t id = ::fork();
  SC_ASSERT(id >= 0, "no fork");
  if (id == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
    std::fflush(nullptr);
    ::_exit(status);
  }
  ::close(ends[1]);
  children_.push_back({.id = id, .output = ends[0], .printed = {}});
}

void Children::start(const Program& program) {
  start([&program] {
    for (const char* name : kLauncherVariables) ::unsetenv(name);
    for (const auto& [name, value] : program.variables) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& argument : program.arguments)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    return 127;
  });
}

void Children::signal(std::size_t index, int number) const {
  if (children_[index].id > 0) ::kill(children_[index].id, number);
}

bool Children::read_more(Child& child, const cluster::Deadline& deadline) {
  std::array<char, 4096> text{};
  pollfd ready{child.output, POLLIN, 0};
  if (!cluster::wait_for({&ready, 1}, deadline)) return false;
  const ssize_t got = ::read(child.output, text.data(), text.size());
  if (got <= 0) return false;
  child.printed.append(text.data(), static_cast<std::size_t>(got));
  return true;
}

bool Children::wait_for_text(std::size_t index, const std::string& text, std::chrono::milliseconds at_most) {
  Child& child = children_[index];
  const cluster::Deadline deadline(at_most);
  while (child.printed.find(text) == std::string::npos) {
    if (!read_more(child, deadline)) return false;
  }
  return true;
}

Ended Children::wait(std::size_t index, std::chrono::milliseconds at_most) {
  Child& child = children_[index];
  Ended ended;
  if (child.id < 0) return ended;
  const cluster::Deadline deadline(at_most);
  while (read_more(child, deadline)) {  // the pipe ends with the child
  }
  ended.was_late = deadline.is_over();
  if (ended.was_late) signal(index, SIGKILL);
  ended.output = std::move(child.printed);
  int status = 0;
  ::waitpid(child.id, &status, 0);
  ::close(child.output);
  child.id = -1;
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

std::vector<Ended> Children::wait_for_all() {
  std::vector<Ended> all;
  for (std::size_t i = 0; i < children_.size(); ++i) all.push_back(wait(i));
  return all;
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  SC_ASSERT(::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0, "no free port");
  ::close(socket);
  return ntohs(address.sin_port);
}

Launch launch_at(int port, int process, int processes) {
  return {.process = process,
          .processes = processes,
          .local = process,
          .address = "127.0.0.1",
          .port = port,
          .how = "a test"};
}

int converse(const Launch& launch, const TransportOptions& options, const Conversation& conversation) {
  try {
    const auto transport = make_transport(launch, options);
    conversation(*transport);
    return 0;
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}

void start_conversation(Children& children, int processes, const TransportOptions& options,
                        const Conversation& conversation) {
  const int port = free_port();
  for (int process = 0; process < processes; ++process) {
    children.start([&] { return converse(launch_at(port, process, processes), options, conversation); });
  }
}

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::printf("not so: %s\n", what.c_str());
  std::fflush(nullptr);
  ::_exit(1);
}

}  // namespace shardcheck::test
