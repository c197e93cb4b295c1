// The specification's table agrees with its own columns and with our formats, and damage to either would
// show.
#include "properties/format_law/number_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/numerics/decode.h"

namespace shardcheck {
namespace {

TEST(NumberTable, ItsColumnsAreThoseOfItsCodes) {
  EXPECT_EQ(number_table().size(), 9u);
  for (const TableRow& row : number_table()) {
    SCOPED_TRACE(format_of(row.format).name);
    std::set<double> values;
    int finite = 0;
    double smallest = INFINITY;
    for (std::uint32_t code = 0; code < code_count(row); ++code) {
      const TableNumber number = table_number(row, code);
      if (number.is != NumberClass::finite) continue;
      ++finite;
      values.insert(number.value());
      if (number.magnitude > 0) smallest = std::min(smallest, number.magnitude);
    }
    EXPECT_EQ(finite, row.finite);
    EXPECT_EQ(static_cast<int>(values.size()), row.distinct);
    EXPECT_EQ(*values.rbegin(), row.largest);
    EXPECT_EQ(smallest, row.smallest);
  }
}

TEST(NumberTable, OurFormatsSayTheSame) {
  for (const TableRow& row : number_table()) {
    const Format& format = format_of(row.format);
    SCOPED_TRACE(format.name);
    ASSERT_EQ(code_count(row), format.code_count());
    EXPECT_EQ(row.smallest_normal, std::ldexp(1.0, format.smallest_exponent()));
    for (std::uint32_t code = 0; code < code_count(row); ++code) {
      const TableNumber number = table_number(row, code);
      EXPECT_EQ(number.is == NumberClass::nan, format.is_nan(code));
      EXPECT_EQ(number.is == NumberClass::infinity, format.is_infinity(code));
      if (number.is == NumberClass::nan) continue;
      EXPECT_EQ(number.value(), static_cast<double>(decode(format, code)));
    }
  }
}

}  // namespace
}  // namespace shardcheck
