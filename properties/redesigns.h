// Redesigns: in which cells of {destination x content x uses x microbatch x execution} each predicate for
// beta is sound (wgrad 4.4). Every cell is a tiny scenario that is planned, judged and run; nothing here is a
// stored answer.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"
#include "sim/scenario/scenario.h"

namespace shardcheck {

/// One cell of the product at the end of wgrad 4.4.
struct RedesignCell {
  std::string destination;  ///< "persistent" or "temporary"
  std::string touched;      ///< class that the cell's write meets: "Z", "UD" or "A"
  int uses = 0;             ///< fused uses of the weight in the microbatch of the cell: 0, 1 or 2
  std::string microbatch;   ///< "first" or "later"
  std::string mode;         ///< "eager", "delayed" or "graph"
  bool applicable = true;   ///< false where the design cannot meet the cell
  bool sound = false;
  std::string clause;    ///< of the first breach, empty when sound
  std::string sentence;  ///< of the first breach
  Scenario scenario;     ///< what was run
};

struct RedesignReport {
  std::string id;  ///< "te-module/none", "te-ops", "R1" ... "R8"
  std::string description;
  std::vector<RedesignCell> cells;
};

/// The whole table: Transformer Engine today with each driver of is_first_microbatch, its ops path, and R1 to
/// R8.
std::vector<RedesignReport> redesigns(Backend& backend);

}  // namespace shardcheck
