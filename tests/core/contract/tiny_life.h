// TinyLife: the life of one 4x64 FP8 weight on two ranks, written by hand, one line an op: created whole, its
// masters cut in the middle, stepped, quantised in pieces, gathered, derived, used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/contract/monitor.h"
#include "core/plan/builder.h"
#include "core/recipe/catalogue.h"

namespace shardcheck::tests {

inline std::int8_t recipe_index(std::string_view name) {
  return static_cast<std::int8_t>(recipe::find_recipe(name) - recipe::recipes().data());
}

struct TinyLife {
  static constexpr std::int64_t kRows = 4, kColumns = 64, kNumel = kRows * kColumns, kHalf = kNumel / 2;

  explicit TinyLife(std::string_view recipe_name = "te-current", std::int32_t group = 2)
      : of{.recipe = recipe_index(recipe_name), .rows = kRows, .columns = kColumns} {
    plan.ranks = 2;
    plan.parameters = {{.name = "w", .rows = kRows, .columns = kColumns, .group = group}};
    initial = allocate("initial", BufferRole::initial, DType::bf16, kNumel);
    master = allocate("master", BufferRole::master, DType::f32, kHalf);
    rounded = allocate("rounded", BufferRole::weights, DType::bf16, kHalf);
    gradient = allocate("shard", BufferRole::shard, DType::f32, kHalf);
    codes = allocate("codes", BufferRole::codes, DType::e4m3, kNumel);
    transpose = allocate("transpose", BufferRole::codes, DType::e4m3, kNumel);
    scales = allocate("scales", BufferRole::scales, DType::f32, 1);
    transpose_scales = allocate("transpose_scales", BufferRole::scales, DType::f32, 1);
    amax = allocate("amax", BufferRole::amaxes, DType::f32, 1);
    factor = allocate("factor", BufferRole::amaxes, DType::f32, 1);
    out = allocate("out", BufferRole::activations, DType::bf16, kNumel);
    plan.weight_copies = {{w, recipe::Direction::row, all(codes), all(scales)},
                          {w, recipe::Direction::column, all(transpose), all(transpose_scales), true}};
    op(Fill{0}, Purpose::setup).on(all(codes));
  }

  View allocate_view(BufferId id) const { return build.whole(id); }
  BufferId allocate(std::string name, BufferRole role, DType type, std::int64_t numel) {
    const BufferId id = build.buffer(std::move(name), role, type, numel);
    op(Allocate{}, Purpose::setup).on(build.whole(id));
    return id;
  }
  PlanBuilder& op(Action action, Purpose purpose, std::vector<Rank> on = {}) {
    last_ranks = on.empty() ? ranks : on;
    return build.op(action,
                    {.purpose = purpose, .parameter = w, .step = step, .microbatch = microbatch, .use = 0},
                    stream, last_ranks);
  }
  View all(BufferId id) const { return build.whole(id); }
  View half(BufferId id, std::int32_t rank) const { return {id, rank * kHalf, kHalf}; }

  /// E1, E2: codes from the initial value on every rank, then masters from it.
  void create() {
    op(QuantizeMatrix{of}, Purpose::setup).on(all(initial)).on(all(codes)).on(all(scales));
    build.on(View{codes, 0, 0}).on(View{scales, 0, 0});
    build_masters();
    op(Undefine{}, Purpose::setup).on(all(initial));
  }
  void build_masters() {
    op(Copy{}, Purpose::setup).on_each([&](std::int32_t r) { return half(initial, r); }).on(all(master));
  }
  void begin_step(std::int16_t number) {
    step = number;
    op(BeginStep{}, Purpose::none);
    begin_microbatch(0);
  }
  void begin_microbatch(std::int16_t number) {
    microbatch = number;
    op(BeginMicrobatch{}, Purpose::none);
  }
  void end_step() {
    microbatch = -1;
    op(EndStep{}, Purpose::none);
  }
  void optimizer() { op(SgdStep{1}, Purpose::consume).on(all(gradient)).on(all(master)); }

  // E5, in its parts.
  void zero_amax() { op(Fill{0}, Purpose::weights).on(all(amax)); }
  void round() { op(Copy{}, Purpose::weights).on(all(master)).on(all(rounded)); }
  void measure(std::int32_t rank) { measure(rank, all(rounded), rank * kHalf); }
  void measure(std::int32_t rank, View piece, std::int64_t start) {
    op(TakeAmax{of, start}, Purpose::weights, {Rank{rank}}).on(piece).on(all(amax));
  }
  void reduce(std::int32_t group = 2) {
    op(Communicate{Collective::all_reduce, Reduction::maximum, group}, Purpose::weights)
        .on(all(amax))
        .on(all(amax));
  }
  void scale() { op(ScaleFromAmax{of}, Purpose::weights).on(all(amax)).on(all(factor)).on(all(scales)); }
  void cast(std::int32_t rank) { cast(rank, all(rounded), rank * kHalf, half(codes, rank)); }
  void cast(std::int32_t rank, View piece, std::int64_t start, View into) {
    op(QuantizeBlocks{of, start}, Purpose::weights, {Rank{rank}}).on(piece).on(all(factor)).on(into);
  }
  void make_scales() {
    zero_amax();
    round();
    for (const int rank : {0, 1}) measure(rank);
    reduce();
    scale();
  }
  void requantise() {
    make_scales();
    for (const int rank : {0, 1}) cast(rank);
  }
  // E6 to E8.
  void gather() {
    op(Communicate{Collective::all_gather, Reduction::sum, 2}, Purpose::weights);
    build.on_each([&](std::int32_t r) { return half(codes, r); }).on(all(codes));
  }
  void derive() {
    op(DeriveColumnCopy{of}, Purpose::weights).on(all(codes)).on(all(scales)).on(all(transpose));
    build.on(all(transpose_scales));
  }
  // E9, E10, E11.
  void forward(Purpose purpose = Purpose::forward) { use(purpose, codes, scales); }
  void backward() { use(Purpose::backward, transpose, transpose_scales); }
  void use(Purpose purpose, BufferId which, BufferId its_scales) {
    op(Matmul{.m = 4, .n = 4, .k = 4, .scales_a = ScaleKind::tensor}, purpose).on(all(which)).on(all(out));
    build.on(all(its_scales)).on(View{its_scales, 0, 0}).on(all(out));
  }
  void discard() {
    op(Undefine{}, Purpose::weights).on(all(transpose));
    op(Undefine{}, Purpose::weights).on(all(transpose_scales));
  }
  void reshard() {
    for (const int rank : {0, 1}) op(Undefine{}, Purpose::weights, {Rank{rank}}).on(half(codes, 1 - rank));
  }
  /// A microbatch after the gather.
  void train() {
    forward();
    derive();
    backward();
    discard();
  }
  void on(Stream other) { stream = other; }
  void order(Stream before, Stream after) {
    const EventId event = build.event();
    const Stream now = stream;
    stream = before;
    op(Record{event}, Purpose::none);
    stream = after;
    op(Wait{event}, Purpose::none);
    stream = now;
  }

  static constexpr ParamId w{0};
  BlockCopy of;
  Plan plan;
  PlanBuilder build{plan};
  std::vector<Rank> ranks{Rank{0}, Rank{1}}, last_ranks;
  Stream stream = Stream::compute;
  std::int16_t step = -1, microbatch = -1;
  BufferId initial, master, rounded, gradient, codes, transpose, scales, transpose_scales, amax, factor, out;
};

/// The findings, a line each: "F50: sentence".
inline std::string life_of(const TinyLife& life) {
  std::string text;
  for (const Finding& finding : judge(life.plan)) text += finding.clause + ": " + finding.sentence + "\n";
  return text;
}

/// Ops, and the clause that the first finding names; "" where the life is right.
struct LifeRow {
  std::string_view name;
  void (*ops)(TinyLife& life);
  std::string_view clause;
  std::string_view recipe = "te-current";
};

inline void expect_lives(std::initializer_list<LifeRow> rows) {
  for (const LifeRow& row : rows) {
    TinyLife life(row.recipe);
    row.ops(life);
    const auto findings = judge(life.plan);
    EXPECT_EQ(findings.empty() ? "" : findings.front().clause, row.clause) << row.name << "\n"
                                                                           << life_of(life);
    for (const Finding& finding : findings)
      EXPECT_EQ(finding.clause, row.clause) << row.name << "\n" << life_of(life);
  }
}

}  // namespace shardcheck::tests
