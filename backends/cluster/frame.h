// Frames: what passes between two processes, on a socket that never blocks. A header of fixed size, then
// bytes. The same binary on machines of one kind speaks to itself, so numbers travel as they lie in memory;
// the handshake makes sure of that. Next: tcp_transport.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace shardcheck::cluster {

enum class FrameKind : std::uint32_t {
  data = 1,
  failure = 2,  ///< the bytes are a sentence; the sender ends
};

inline constexpr std::uint32_t kFrameMagic = 0x46524353;  // "SCRF"

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  FrameKind kind = FrameKind::data;
  std::uint64_t sequence = 0;  ///< of the call, so that processes which have gone apart show
  std::int64_t number = 0;     ///< of the Occasion, as the digest
  std::uint64_t digest = 0;
  std::uint64_t bytes = 0;  ///< that follow
};
static_assert(std::is_trivially_copyable_v<FrameHeader> && sizeof(FrameHeader) == 40,
              "no padding: two processes must mean the same bytes");

/// Why a connection is of no use any more: "closed its connection", "sent nonsense". Caught by who knows the
/// process at its other end.
struct PeerLost {
  std::string how;
};

/// Sends one frame, as far as the socket takes it.
class FrameWriter {
 public:
  /// `first` and `second` must live until the frame is complete; they follow each other behind the header.
  struct Content {
    std::span<const std::byte> first, second;
  };
  void begin(FrameHeader header, const Content& content);
  /// True when the frame is complete. Throws PeerLost.
  bool write_some(int socket);
  /// Between two frames: a new one can begin.
  bool is_idle() const { return done_ == total_; }

 private:
  FrameHeader header_;
  Content content_;
  std::uint64_t done_ = 0, total_ = 0;
};

/// Receives one frame, as far as it has come.
class FrameReader {
 public:
  /// A frame that announces more than `largest` bytes is PeerLost.
  void begin(std::uint64_t largest);
  /// True when the frame is complete. Throws PeerLost.
  bool read_some(int socket);

  const FrameHeader& header() const { return header_; }
  std::span<const std::byte> content() const { return content_; }

 private:
  void check_header();

  FrameHeader header_;
  std::vector<std::byte> content_;
  std::uint64_t largest_ = 0, done_ = 0;
};

/// A failure says a sentence; longer ones are cut.
inline constexpr std::uint64_t kLongestSentence = 4096;

}  // namespace shardcheck::cluster
