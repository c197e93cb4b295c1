// Timelines: when every op of a plan would run on which stream of which rank, by a model of a machine: an op
// takes its bytes, its products or its transfer, one after the other on a stream, after the events that it
// waits for, a collective when its group has come together. The shape of a step, not a date. Next:
// tools/shardcheck/trace_events.h writes one for Perfetto.
#pragma once

#include <set>
#include <vector>

#include "core/plan/plan.h"

namespace shardcheck::cost {

/// Rates of one GPU and its links; the defaults were measured on H200s.
struct Gpu {
  double launch = 3.5e-6;             ///< seconds of an op that does nothing
  double bytes_per_second = 4.27e12;  ///< memory, read and write together
  double flops_16bit = 776e12;
  double flops_8bit = 1303e12;
  double collective = 12e-6;             ///< seconds of a collective of nothing
  double link_bytes_per_second = 272e9;  ///< bus bandwidth of a collective
  /// To and from memory of the host. Not measured: 16 lanes of PCIe 5.0, 32 GT/s each, 128 bits in 130, and
  /// 24 bytes around each 256.
  double host_bytes_per_second = 57.6e9;
};

/// A matrix product: m x n x k multiply-adds.
struct Product {
  double m = 0, n = 0, k = 0;
  bool is_8bit = false;
};

/// Seconds of a product that reads and writes so many bytes in all: its flops or its bytes, whatever takes
/// longer.
double product_seconds(const Product& product, double bytes, const Gpu& gpu);

/// Seconds of an op that does little but read and write so many bytes of the device.
double touch_seconds(double bytes, const Gpu& gpu);

/// One op on one rank.
struct Span {
  OpIndex op;
  Rank rank;
  double begin = 0, end = 0;  ///< seconds
};

/// All ops that take time, in the order of the plan, then of their ranks. Setup and events take none. Time:
/// linear in ops times ranks.
std::vector<Span> timeline_of(const Plan& plan, const Gpu& gpu);

/// Adds those of `ops` that take no time, such as handing storage back, where what is before them on their
/// stream and rank ends. `spans` is a timeline of the plan, and stays in its order.
void add_instants(const Plan& plan, const std::set<OpIndex>& ops, std::vector<Span>& spans);

/// Seconds that the op takes once it has begun. Bytes of the host cross the link to it, and those of the
/// device are read and written meanwhile. A ring: a reduction of n bytes in all over W ranks sends
/// (W - 1) / W n, an all-reduce twice that.
double seconds_of(const Plan& plan, const Op& op, const Gpu& gpu);

}  // namespace shardcheck::cost
