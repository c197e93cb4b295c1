// Every faulty product is caught on its own case by the law that it names, and the right one keeps it there.
#include "properties/product_law/zoo.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/cpu/cpu_backend.h"
#include "properties/product_law/product_law_property.h"

namespace shardcheck {
namespace {

TEST(ProductZoo, EveryFaultBreaksItsLaw) {
  std::set<ProductLaw> laws;
  const auto backend = make_cpu_backend(kHopper);
  for (const ProductFault& fault : product_zoo()) {
    SCOPED_TRACE(fault.id);
    laws.insert(fault.law);
    EXPECT_EQ(find_product_fault(fault.id), &fault);
    ProductQuestion q = case_of(fault);
    const auto findings = judge_product_question(*backend, AskedProduct(q)).findings;
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].clause, clause_of(fault.law));
    q.fault.clear();
    EXPECT_TRUE(judge_product_question(*backend, AskedProduct(q)).findings.empty());
  }
  EXPECT_EQ(laws.size(), static_cast<std::size_t>(kProductLaws));
}

}  // namespace
}  // namespace shardcheck
