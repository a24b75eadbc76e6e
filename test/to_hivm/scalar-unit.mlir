// RUN: tilewright-hivm %s | FileCheck %s
// RUN: tilewright-hivm %s --form=plain | FileCheck %s --check-prefix=PLAIN

// The other compiler makes loops of the scalar unit from scans along rows and from arithmetic of
// 64-bit integers: all pipes wait for each other around them, where the flags are ours.

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// CHECK: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK: "hivm.hir.vcumsum"{{.*}}cum_dims = array<i64: 1>
// CHECK-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK-NEXT: "hivm.hir.vcumsum"{{.*}}cum_dims = array<i64: 0>
// CHECK-NOT: PIPE_ALL
// CHECK: "hivm.hir.vadd"{{.*}}xi32
// CHECK-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK-NEXT: "hivm.hir.vadd"{{.*}}xi64
// CHECK-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK: "hivm.hir.vcmp"{{.*}}<eq>
// CHECK-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK-NEXT: "hivm.hir.vcmp"{{.*}}<lt>
// CHECK-NEXT: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>

// PLAIN-NOT: pipe_barrier

func.func @host(%A: memref<8x64xf32, #gm>) {
  npu.launch aiv @aiv(%A) : memref<8x64xf32, #gm>
  return
}
func.func private @aiv(%A: memref<8x64xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : memref<8x64xf32, #ub>
  %i = npu.alloc "i" {address = 2048} : memref<64xi32, #ub>
  %m = npu.alloc "m" {address = 2816} : memref<64xi1, #ub>
  %l = npu.alloc "l" {address = 2304} : memref<64xi64, #ub>
  npu.scan <sum> (%x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>, %x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>) dim = 1
  npu.scan <sum> (%x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>, %x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>) dim = 0
  npu.elementwise <add> (%i[%c0] [%c64] : memref<64xi32, #ub>, %i[%c0] [%c64] : memref<64xi32, #ub>, %i[%c0] [%c64] : memref<64xi32, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  npu.elementwise <add> (%l[%c0] [%c64] : memref<64xi64, #ub>, %l[%c0] [%c64] : memref<64xi64, #ub>, %l[%c0] [%c64] : memref<64xi64, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  npu.elementwise <eq> (%m[%c0] [%c64] : memref<64xi1, #ub>, %i[%c0] [%c64] : memref<64xi32, #ub>, %i[%c0] [%c64] : memref<64xi32, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  npu.elementwise <lt> (%m[%c0] [%c64] : memref<64xi1, #ub>, %i[%c0] [%c64] : memref<64xi32, #ub>, %i[%c0] [%c64] : memref<64xi32, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  return
}
