// What an element's bytes hold, in words: "microbatch 0 of rank 1", "2 x microbatch 1 of rank 0", "undefined
// bytes". A sum that the plan predicts is said only when the number seen is the predicted one; otherwise the
// number itself is decoded (sim/oracle/provenance.h), and where that fails nothing is claimed.
#pragma once

#include <string>
#include <vector>

#include "properties/diagnosis/subject.h"

namespace shardcheck {

/// The contents of a number seen on `rank` where the plan predicts `predicted`.
std::vector<std::string> contents_of(const Subject& subject, const Combination& predicted, double seen,
                                     Rank rank);

/// The contributions in a number, by its digits: nothing when it is no sum of contributions times `scale`.
/// Contributions that do not show in this element are not among them.
std::optional<Combination> decoded(const Subject& subject, double value, double scale, Rank rank);

/// The contributions that show in the subject's element.
bool is_visible(const Subject& subject, std::int64_t contribution);

/// An element near the subject's, in the same owner's part, in which the contribution shows; the subject's
/// own when there is none.
std::int64_t element_showing(const Subject& subject, std::int64_t contribution);

/// "microbatch 0 of rank 1", with step and use where the scenario has several.
std::string name_of(const Subject& subject, std::int64_t contribution);

/// "1/2", "3", "0.75".
std::string weight_text(double weight);

/// How `actual` differs from `right`, one sentence a contribution, as sim/oracle/provenance.h words it.
std::vector<std::string> differences(const Subject& subject, const Combination& actual,
                                     const Combination& right);

}  // namespace shardcheck
