// The actions that move no byte and order nothing: backends need do nothing for them. A closed list, so that
// an action which a backend does not know is a compile error there and not a silent no-op.
#pragma once

#include <concepts>

#include "core/plan/op.h"

namespace shardcheck {

template <class Action, class... Actions>
concept OneOf = (std::same_as<Action, Actions> || ...);

template <class Action>
concept ProtocolEvent =
    OneOf<Action, Enqueue, BeginGraph, EndGraph, BeginStep, BeginMicrobatch, Acquire, CloseLease, Flag,
          Return, Hook, Ready, Finish, EndStep, BeginRecompute, EndRecompute, Interrupt>;

}  // namespace shardcheck
