#include "sim/cost/closed_form.h"

#include <cmath>

namespace shardcheck::cost {

ClosedForm closed_form(const StepJob& job) {
  ClosedForm sum{.strategy = closed_form_of(*job.system, job.outer)};
  for (const Piece& piece : job.pieces) {
    const Groups& groups = job.groups_of(piece);
    const Job priced{.elements = static_cast<double>(piece.whole),
                     .inner = groups.inner.ranks,
                     .outer = groups.outer.ranks,
                     .microbatches = static_cast<double>(job.microbatches),
                     .gathers = job.gathers(),
                     .widths = job.widths};
    sum.kept += bytes_kept(sum.strategy, priced);
    sum.sent += bytes_sent(sum.strategy, priced);
    sum.collectives += collective_seconds(sum.strategy, priced, {groups.inner, groups.outer, job.network});
  }
  return sum;
}

bool agrees(double planned, double closed) {
  return std::abs(planned - closed) <= std::ldexp(std::abs(closed), -40);
}

}  // namespace shardcheck::cost
