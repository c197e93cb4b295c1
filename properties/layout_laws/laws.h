// The laws of shard layouts (shard-layouts 4): how far each is judged here; their sentences are in the
// catalogue (core/contract/clauses.h). A law is a plain function over a claim; judge.h runs them. Next:
// claim.h, what they look at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardcheck::laws {

/// What a law needs to be judged.
enum class Evidence : std::uint8_t {
  geometry,  ///< integers alone
  bytes,     ///< numbers are moved
  rebuild,   ///< the layout of a changed model is built beside it
  nothing,   ///< not judged here; `how` says why
};
std::string_view name_of(Evidence evidence);

struct Law {
  std::string_view id;  ///< "L7"
  Evidence evidence;
  std::string_view how;  ///< what exactly is looked at, or why nothing is
};

/// L1 to L30.
std::span<const Law> laws();

/// Null when there is none of that id.
const Law* find_law(std::string_view id);

/// A broken law with its evidence. Fields that do not apply are -1 or empty.
struct LawFinding {
  std::string_view law;       ///< "L7"
  std::string sentence;       ///< what happened
  std::string layout;         ///< name in the registry
  std::string parameter;      ///< name
  std::int32_t rank = -1;     ///< in the group of the buffer
  std::int64_t element = -1;  ///< of the parameter, or of the buffer when no parameter is named
  std::int64_t expected = 0, actual = 0;
  std::string_view quirk;  ///< reference of the declared quirk that explains it; empty: a fault
};
using Findings = std::vector<LawFinding>;

/// One line: law, layout, parameter, rank, sentence, expected and actual, and the quirk.
std::string to_text(const LawFinding& finding);

}  // namespace shardcheck::laws
