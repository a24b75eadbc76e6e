// RUN: tilewright-sim %s --timing-only --sensitivity | FileCheck %s
// RUN: tilewright-sim %s --timing-only --json --constant mte3_rate_aiv=1 --alternative mte3_rate_aiv=32.2,vec_fixed=22 | FileCheck %s --check-prefix=JSON
// RUN: not tilewright-sim %s --timing-only --constant speed=1 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not tilewright-sim %s --timing-only --alternative vec_fixed=fast 2>&1 | FileCheck %s --check-prefix=NUMBER

// One store: its rate is what matters, and constants that were read off a figure are not tried.

// CHECK: time {{.*}} us
// CHECK: core {{[0-9.]+}} to {{[0-9.]+}} us over the uncertain constants; most: {{[a-z0-9_]+}}
// CHECK-NOT: mmad_overhead
// CHECK: mte3_rate_aiv 26 to 34: +{{[0-9.]+}} %, -{{[0-9.]+}} %
// CHECK-NOT: fix_start

// At one byte a cycle the store alone takes 65536 cycles.
// JSON: "cycles": 6{{[0-9]+}}.
// JSON: "alternatives": [
// JSON: "cycles": 2{{[0-9][0-9][0-9]}}.

// KEY: 910b3 has no constant 'speed'
// NUMBER: expected KEY=NUMBER, found 'vec_fixed=fast'

func.func @store(%A: memref<32768xf16> {tile.name = "A", tile.output}) {
  npu.launch aiv @store_aiv(%A) : memref<32768xf16>
  return
}

func.func @store_aiv(%A: memref<32768xf16, #npu.space<gm>> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c32768 = arith.constant 32768 : index
  %id = npu.core_id
  %is_first = arith.cmpi eq, %id, %c0 : index
  %x = npu.alloc "x" {address = 0} : memref<32768xf16, #npu.space<ub>>
  scf.if %is_first {
    npu.begin_block %id
    npu.store (%A[%c0] [%c32768] : memref<32768xf16, #npu.space<gm>>, %x[%c0] [%c32768] : memref<32768xf16, #npu.space<ub>>)
  }
  return
}
