// TinyPlan: a plan written by hand on two ranks, one line an op, with one 1x4 parameter and two elements of
// padding behind it, so that each rank's slice of a reduce-scatter has three elements: w[0:3) and w[3].
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/contract/monitor.h"
#include "core/plan/builder.h"

namespace shardcheck::tests {

inline constexpr Stream kCompute = Stream::compute;
inline constexpr Stream kReduce = Stream::reduce;

struct TinyPlan {
  static constexpr std::int64_t kNumel = 4, kPadded = 6, kSlice = 3;

  explicit TinyPlan(std::int32_t group = 2) {
    plan.ranks = 2;
    plan.parameters = {{.name = "w", .rows = 1, .columns = kNumel, .group = group},
                       {.name = "frozen", .rows = 1, .columns = kNumel, .trainable = false}};
    inputs = allocate("inputs", BufferRole::inputs, kNumel + 1);
    main = allocate("main_grad", BufferRole::main_grad, kPadded);
    slot = allocate("slot", BufferRole::lease_slot, kPadded);
    shard = allocate("shard", BufferRole::shard, kSlice);
    comm = allocate("comm", BufferRole::staging, kPadded);
    grad = allocate("w.grad", BufferRole::param_grad, kNumel);
    placeholder = allocate("placeholder", BufferRole::placeholder, kNumel);
    master = allocate("master", BufferRole::master, kPadded);
    for (BufferId id : {main, comm}) plan.placements.push_back({w, Rank{-1}, {id, 0, kNumel}, 0});
    plan.placements.push_back({w, Rank{0}, {shard, 0, 3}, 0});
    plan.placements.push_back({w, Rank{1}, {shard, 0, 1}, 3});
    plan.buckets = {{{w, Rank{-1}, {BufferId{-1}, 0, kNumel}, 0}}};
  }

  BufferId allocate(std::string name, BufferRole role, std::int64_t numel) {
    const BufferId id = build.buffer(std::move(name), role, DType::f32, numel);
    op(Allocate{}, Purpose::setup).on(build.whole(id));
    return id;
  }
  PlanBuilder& op(Action action, Purpose purpose, Stream stream = kCompute, ParamId parameter = ParamId{-1}) {
    return build.op(action, {.purpose = purpose, .rule = rule, .parameter = parameter}, stream, ranks);
  }
  View all(BufferId id) const { return build.whole(id); }
  View of_w(BufferId id) const { return {id, 0, kNumel}; }
  static View slice(BufferId id, std::int32_t rank) { return {id, rank * kSlice, kSlice}; }

  void begin_step() { op(BeginStep{}, Purpose::none); }
  void undefine(View view) { op(Undefine{}, Purpose::none).on(view); }
  void zero(View view, Stream stream = kCompute) { op(Fill{0}, Purpose::zero, stream).on(view); }
  void write(int beta, BufferId into, Stream stream = kCompute) {
    op(Gemm{1, 1, kNumel, beta == 1}, Purpose::write, stream, w);
    build.on({inputs, kNumel, 1}).on({inputs, 0, kNumel}).on(of_w(into));
  }
  void fold(bool add, BufferId into) {
    op(add ? Action(Add{}) : Action(Copy{}), Purpose::fold, kCompute, w).on(all(grad)).on(of_w(into));
  }
  void scale(View view, float factor, Stream stream = kCompute) {
    op(Scale{factor}, Purpose::scale, stream).on(view);
  }
  void divide(View view) { op(Scale{0.5f}, Purpose::divide).on(view); }
  void all_reduce(BufferId id, Stream stream = kCompute) {
    op(Communicate{Collective::all_reduce, Reduction::sum, 2}, Purpose::reduce, stream)
        .on(all(id))
        .on(all(id));
  }
  void reduce_scatter(BufferId id, Stream stream = kCompute) {
    op(Communicate{Collective::reduce_scatter, Reduction::sum, 2}, Purpose::reduce, stream).on(all(id));
    build.on_each([&](std::int32_t i) { return slice(id, i); });
  }
  void accumulate(bool add, BufferId from, Stream stream = kCompute) {
    op(add ? Action(Add{}) : Action(Copy{}), Purpose::accumulate, stream);
    build.on_each([&](std::int32_t i) { return slice(from, i); }).on(all(shard));
  }
  void stage(Stream stream = kCompute) { op(Copy{}, Purpose::stage, stream).on(all(main)).on(all(comm)); }
  void unstage(Stream stream = kCompute) { op(Copy{}, Purpose::unstage, stream).on(all(comm)).on(all(main)); }
  void open(Stream stream = kCompute) { op(OpenLease{0}, Purpose::none, stream).on(all(slot)); }
  void close(Stream stream = kCompute) { op(CloseLease{}, Purpose::none, stream).on(all(slot)); }
  void finish(BufferId id) { op(Finish{}, Purpose::none).on(all(id)); }
  void finish_slices(BufferId id) {
    op(Finish{}, Purpose::none).on_each([&](std::int32_t i) { return slice(id, i); });
  }
  void consume(BufferId id) { op(SgdStep{1}, Purpose::consume).on(all(id)).on({master, 0, all(id).numel}); }
  void wait(EventId event, Stream stream) { op(Wait{event}, Purpose::none, stream); }
  void order(Stream before, Stream after) {
    const EventId event = build.event();
    op(Record{event}, Purpose::none, before);
    wait(event, after);
  }

  /// Brings `id` to class A or, by a collective on the same stream, to class V.
  void fill(BufferId id) {
    if (id == slot) open();
    zero(all(id));
    write(1, id);
  }
  void reduce(BufferId id) {
    fill(id);
    all_reduce(id);
  }

  static constexpr ParamId w{0}, frozen{1};
  Plan plan;
  PlanBuilder build{plan};
  std::vector<Rank> ranks{Rank{0}, Rank{1}};
  BetaRule rule = BetaRule::first_touch;
  BufferId inputs, main, slot, shard, comm, grad, placeholder, master;
};

/// The clauses that the plan breaks, each once, separated by blanks; empty when it breaks none.
inline std::string broken(const Plan& plan) {
  std::set<std::string> clauses;
  for (const Finding& finding : judge(plan)) clauses.insert(finding.clause);
  std::string text;
  for (const std::string& clause : clauses) text += (text.empty() ? "" : " ") + clause;
  return text;
}

/// What a buffer may have been through: read by a reduction that nobody waited for; consumed in the step
/// before; lent and returned.
inline void in_flight(TinyPlan& p, BufferId id) {
  p.fill(id);
  p.order(kCompute, kReduce);
  p.all_reduce(id, kReduce);
}
inline void consumed(TinyPlan& p, BufferId id) {
  p.reduce(id);
  p.finish(id);
  p.consume(id);
  p.begin_step();
}
inline void closed(TinyPlan& p, BufferId id) {
  p.open();
  p.zero(p.all(id));
  p.close();
}

/// A row of a table of the specification: ops, and the clause that the last of them breaks, or "".
struct Row {
  std::string_view name;
  void (*ops)(TinyPlan& p);
  std::string_view clause;
  std::int32_t group = 2;
};

inline void expect_rows(std::initializer_list<Row> rows) {
  for (const Row& row : rows) {
    TinyPlan tiny(row.group);
    row.ops(tiny);
    EXPECT_EQ(broken(tiny.plan), row.clause) << row.name;
  }
}

}  // namespace shardcheck::tests
