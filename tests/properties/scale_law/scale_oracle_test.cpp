// The second statement of the formulas gives the figures that the specification prints.
#include "properties/scale_law/scale_oracle.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/recipe/catalogue.h"

namespace shardcheck {
namespace {

recipe::BlockScale scale(const char* name, float amax, float tensor_amax = 0) {
  return expected_scale(*recipe::find_recipe(name), recipe::find_recipe(name)->forward,
                        {.amaxes = {}, .tensor_amax = tensor_amax}, amax);
}

TEST(ScaleOracle, GivesTheMiniaturesOfTheSpecification) {
  EXPECT_EQ(scale("te-current", 12).factor, 0x1.2AAAAAp5f);  // 0x42155555
  EXPECT_EQ(scale("te-current", 12).stored, 0x3CDB6DB7u);
  EXPECT_EQ(scale("te-current-pow2", 300).factor, 1.0f);
  EXPECT_EQ(scale("te-current", 7).factor, 64.0f);
  EXPECT_EQ(scale("te-current", 0).factor, 1.0f);
  EXPECT_EQ(scale("te-current", 1e-38f).factor, std::numeric_limits<float>::max());
  EXPECT_EQ(scale("te-mxfp8", 449).stored, 0x80u);
  EXPECT_EQ(scale("ao-mxfp8-floor", 449).stored, 0x7Fu);
  EXPECT_EQ(scale("te-mxfp8", 7168).stored, 0x83u);
  EXPECT_EQ(scale("te-mxfp8", std::numeric_limits<float>::infinity()).stored, 0xFEu);
  EXPECT_EQ(scale("ao-mxfp8-rceil", std::numeric_limits<float>::infinity()).stored, 0xFFu);
  EXPECT_EQ(scale("te-nvfp4", 6, 6).stored, 0x7Eu);
}

}  // namespace
}  // namespace shardcheck
