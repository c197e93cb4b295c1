// The judge: every law over one case, in one call. A case is a question to a layout and the second question
// that its state is resharded to. The same function serves random cases, real models, the zoo and the
// command. Next: laws.h for what is looked at, quirks.h for what is known.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "properties/layout_laws/claim.h"
#include "properties/layout_laws/moves.h"

namespace shardcheck::laws {

struct Case {
  Asked asked;
  std::optional<Asked>
      moved_to;             ///< the same parameters under another layout or world; none: L16 to L18 rest
  std::int64_t choice = 0;  ///< which metamorphic law
  std::string fault;  ///< an entry of the zoo (zoo.h), judged on its own model, which `asked` is; or empty
};

struct Verdict {
  Findings findings;      ///< quirks are marked
  bool rejected = false;  ///< the layout refuses the model, twice with the same sentence
  bool moved_bytes = false;
  std::string rejection;
};

/// Bytes are moved when a claim needs at most this many elements of storage over all ranks.
inline constexpr std::int64_t kMostStorage = std::int64_t{1} << 16;

/// True when a tensor is too large for a layout to write out that cuts inside rows: it has a segment a row.
bool has_huge_tensor(const Asked& asked);

/// All laws. A layout that refuses the model, or whose sizes do not fit 64 bits, must do so twice alike.
Verdict judge(const Case& of);

/// All laws of one layout over a claim that may have been changed; what judge does after building.
void judge_claim(const Claim& claim, std::int64_t choice, Verdict& verdict);

}  // namespace shardcheck::laws
