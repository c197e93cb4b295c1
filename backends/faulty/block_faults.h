// Numeric faults of ops on blocks and of maxima: which ops each touches, and how it executes one. Their names
// and sentences are in faults.cpp, with all others.
#pragma once

#include "core/backend.h"

namespace shardcheck::faulty {

bool is_take_amax(const Action& action);
bool is_scale_from_amax(const Action& action);
bool is_quantize_blocks(const Action& action);
/// Makes both copies by a recipe that quantises each.
bool makes_two_copies(const Action& action);
bool is_derive_column_copy(const Action& action);
/// Stores E8M0 scales that products read in another order.
bool stores_scales_to_swizzle(const Action& action);
bool is_close_delayed_step(const Action& action);
bool is_maximum(const Action& action);

void amax_without_last_row(Backend& inner, const Plan& plan, OpIndex index);
void scale_rounded_up(Backend& inner, const Plan& plan, OpIndex index);
void double_rounded_codes(Backend& inner, const Plan& plan, OpIndex index);
void column_of_row_codes(Backend& inner, const Plan& plan, OpIndex index);
void grid_not_transposed(Backend& inner, const Plan& plan, OpIndex index);
void swizzled_scales(Backend& inner, const Plan& plan, OpIndex index);
void frozen_history(Backend& inner, const Plan& plan, OpIndex index);
void lose_maximum(Backend& inner, const Plan& plan, OpIndex index);

}  // namespace shardcheck::faulty
