// RUN: tilewright-hivm %s --form=planned > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: not tilewright-hivm %s --form=planned --ub-bytes=1152 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: sed 's/"hivm.hir.vexp"(/%%temp = memref.alloc() : memref<40xf32>\n    "hivm.hir.vexp"(%%temp, /; s/vexp"(\(.*\)) <\(.*\) : (/vexp"(\1) <\2 : (memref<40xf32>, /' %t.mlir > %t.more.mlir
// RUN: tilewright-hivm --place-temporaries %t.more.mlir | FileCheck %s --check-prefix=PLACE
// RUN: sed 's/40xf32/90000xf32/' %t.more.mlir | not tilewright-hivm --place-temporaries 2>&1 | FileCheck %s --check-prefix=LARGE

// Addresses of the plan; slots that are padded have an address each; exp2 needs a temporary behind
// the plan, and memory that another compiler adds comes behind that.

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// CHECK: tilewright.free_ub = array<i64: 1472, 196608>
// CHECK: %[[X:.*]] = "hivm.hir.pointer_cast"(%c128_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<2x64xf32, #hivm.address_space<ub>>
// CHECK: %[[STEP:.*]] = arith.muli %{{.*}}, %c128{{.*}} : index
// CHECK: "hivm.hir.pointer_cast"(%{{.*}}) {{.*}} -> memref<50xf16, #hivm.address_space<ub>>
// CHECK: "hivm.hir.load"
// CHECK: "hivm.hir.pointer_cast"(%c1024_i64) {{.*}} -> memref<50xf32, #hivm.address_space<ub>>

// FULL: error: temporaries of HIVM text need {{.*}} bytes of UB behind the plan, which leaves 128

// PLACE: "hivm.hir.pointer_cast"(%{{.*}}) {{.*}} -> memref<40xf32, #hivm.address_space<ub>>
// LARGE: temporaries of hivm.hir.vexp take 360000 bytes of UB, the plan leaves

func.func @host(%A: memref<50xf16, #gm>) {
  npu.launch aiv @aiv(%A) : memref<50xf16, #gm>
  return
}
func.func private @aiv(%A: memref<50xf16, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %x = npu.alloc "x" {slots = 2, address = 128} : memref<64xf32, #ub>
  %y = npu.alloc "y" {slots = 2, address = 768} : memref<50xf16, #ub>
  scf.for %i = %c0 to %c50 step %c1 {
    npu.advance %x : memref<64xf32, #ub>
    npu.fill %zero : f32, (%x[%c0] [%c64] : memref<64xf32, #ub>)
    npu.advance %y : memref<50xf16, #ub>
    npu.load (%y[%c0] [%c50] : memref<50xf16, #ub>, %A[%c0] [%c50] : memref<50xf16, #gm>)
    npu.barrier <All>
    npu.elementwise <exp2> (%y[%c0] [%c50] : memref<50xf16, #ub>, %y[%c0] [%c50] : memref<50xf16, #ub>) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.barrier <All>
  }
  return
}
