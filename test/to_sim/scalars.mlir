// RUN: tilewright-sim %s --check --set 2=7 --set 3=0.5 | FileCheck %s

// The scalar unit: each line of the program writes one element of the results.

#gm = #npu.space<gm>

// CHECK: steps : 3
// CHECK-NOT: finding
// CHECK: argument 0 (I): int32 [24] checksum
// CHECK-NEXT: tensor([ 120, 13, -2, -1, -3, 2, 1, 255, 3, 1, 0, 1, 4, 2, 9, -3, 2147483647, 0, 1, 0, 10, 20, 30, 249]
// CHECK: argument 1 (F): float32 [6] checksum
// CHECK-NEXT: tensor([ 4.0000, 0.5000, -0.5000, 1.5000, 200.0000, 7.0000])
func.func @scalars(%I: memref<24xi32> {tile.name = "I", tile.output}, %F: memref<6xf32> {tile.name = "F", tile.output},
                   %n: i32, %x: f32) {
  npu.launch aiv @scalars_aiv(%I, %F, %n, %x) : memref<24xi32>, memref<6xf32>, i32, f32
  return
}

func.func @scalars_aiv(%I: memref<24xi32, #gm> {npu.name = "I"}, %F: memref<6xf32, #gm> {npu.name = "F"}, %n: i32, %x: f32)
    attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %c11 = arith.constant 11 : index
  %c12 = arith.constant 12 : index
  %c13 = arith.constant 13 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  %c18 = arith.constant 18 : index
  %c19 = arith.constant 19 : index
  %c20 = arith.constant 20 : index
  %c23 = arith.constant 23 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %i2 = arith.constant 2 : i32
  %i3 = arith.constant 3 : i32
  %i5 = arith.constant 5 : i32
  %i10 = arith.constant 10 : i32
  %m1 = arith.constant -1 : i32
  %m7 = arith.constant -7 : i32
  %count = npu.alloc "count" : memref<i32, #npu.space<reg>>
  %id = npu.core_id
  %isFirst = arith.cmpi eq, %id, %c0 : index
  scf.if %isFirst {
    npu.begin_block %c0
    // 5! by a loop with a carried value, Fibonacci by two that change places.
    %fact = scf.for %i = %c1 to %c6 step %c1 iter_args(%acc = %i1) -> (i32) {
      %k = arith.index_cast %i : index to i32
      %next = arith.muli %acc, %k : i32
      scf.yield %next : i32
    }
    npu.scalar_store %fact, %I[%c0] : i32, memref<24xi32, #gm>
    %fib:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%a = %i0, %b = %i1) -> (i32, i32) {
      %sum = arith.addi %a, %b : i32
      scf.yield %b, %sum : i32, i32
    }
    npu.scalar_store %fib#0, %I[%c1] : i32, memref<24xi32, #gm>
    // Division by 3 of -7: toward zero, rest, floor, ceiling of 7 / 5.
    %div = arith.divsi %m7, %i3 : i32
    npu.scalar_store %div, %I[%c2] : i32, memref<24xi32, #gm>
    %rem = arith.remsi %m7, %i3 : i32
    npu.scalar_store %rem, %I[%c3] : i32, memref<24xi32, #gm>
    %floor = arith.floordivsi %m7, %i3 : i32
    npu.scalar_store %floor, %I[%c4] : i32, memref<24xi32, #gm>
    %ceil = arith.ceildivsi %n, %i5 : i32
    npu.scalar_store %ceil, %I[%c5] : i32, memref<24xi32, #gm>
    %udiv = arith.divui %m1, %m7 : i32
    npu.scalar_store %udiv, %I[%c6] : i32, memref<24xi32, #gm>
    // Widths: -1 as a byte, zero-extended; shifts; unsigned comparison.
    %byte = arith.trunci %m1 : i32 to i8
    %wide = arith.extui %byte : i8 to i32
    npu.scalar_store %wide, %I[%c7] : i32, memref<24xi32, #gm>
    %shr = arith.constant 30 : i32
    %top = arith.shrui %m1, %shr : i32
    npu.scalar_store %top, %I[%c8] : i32, memref<24xi32, #gm>
    %ult = arith.cmpi ult, %n, %m1 : i32
    %ultBit = arith.extui %ult : i1 to i32
    npu.scalar_store %ultBit, %I[%c9] : i32, memref<24xi32, #gm>
    %slt = arith.cmpi slt, %n, %m1 : i32
    %sltBit = arith.extui %slt : i1 to i32
    npu.scalar_store %sltBit, %I[%c10] : i32, memref<24xi32, #gm>
    %pick = arith.select %slt, %i5, %i1 : i32
    npu.scalar_store %pick, %I[%c11] : i32, memref<24xi32, #gm>
    // Affine maps.
    %index = arith.index_cast %n : i32 to index
    %apply = affine.apply affine_map<(d0)[s0] -> ((d0 + 9) floordiv 4 + s0 * 0)>(%index)[%c1]
    %applied = arith.index_cast %apply : index to i32
    npu.scalar_store %applied, %I[%c12] : i32, memref<24xi32, #gm>
    %least = affine.min affine_map<(d0) -> (d0, 9 - d0, 100)>(%index)
    %leastInt = arith.index_cast %least : index to i32
    npu.scalar_store %leastInt, %I[%c13] : i32, memref<24xi32, #gm>
    // A variable, a while loop, a branch with a result.
    npu.scalar_store %i0, %count[] : i32, memref<i32, #npu.space<reg>>
    %last = scf.while (%v = %n) : (i32) -> i32 {
      %more = arith.cmpi sgt, %v, %i1 : i32
      scf.condition(%more) %v : i32
    } do {
    ^bb0(%v: i32):
      %seen = npu.scalar_load %count[] : memref<i32, #npu.space<reg>> -> i32
      %next = arith.addi %seen, %i3 : i32
      npu.scalar_store %next, %count[] : i32, memref<i32, #npu.space<reg>>
      %less = arith.subi %v, %i2 : i32
      scf.yield %less : i32
    }
    %steps = npu.scalar_load %count[] : memref<i32, #npu.space<reg>> -> i32
    npu.scalar_store %steps, %I[%c14] : i32, memref<24xi32, #gm>
    %turns = arith.divsi %steps, %i3 : i32
    npu.print "steps " () scalar %turns : i32
    %chosen = scf.if %slt -> (i32) {
      scf.yield %i1 : i32
    } else {
      %t = arith.subi %i0, %i3 : i32
      scf.yield %t : i32
    }
    npu.scalar_store %chosen, %I[%c15] : i32, memref<24xi32, #gm>
    // Floats to integers: saturated, NaN gives 0.
    %big = arith.constant 1.0e20 : f32
    %saturated = arith.fptosi %big : f32 to i32
    npu.scalar_store %saturated, %I[%c16] : i32, memref<24xi32, #gm>
    %nan = arith.constant 0x7FC00000 : f32
    %none = arith.fptosi %nan : f32 to i32
    npu.scalar_store %none, %I[%c17] : i32, memref<24xi32, #gm>
    %une = arith.cmpf une, %nan, %x : f32
    %uneBit = arith.extui %une : i1 to i32
    npu.scalar_store %uneBit, %I[%c18] : i32, memref<24xi32, #gm>
    %ord = arith.cmpf ord, %nan, %x : f32
    %ordBit = arith.extui %ord : i1 to i32
    npu.scalar_store %ordBit, %I[%c19] : i32, memref<24xi32, #gm>
    scf.for %i = %c0 to %c3 step %c1 {
      %at = arith.addi %i, %c20 : index
      %k = arith.index_cast %i : index to i32
      %plus = arith.addi %k, %i1 : i32
      %tens = arith.muli %plus, %i10 : i32
      npu.scalar_store %tens, %I[%at] : i32, memref<24xi32, #gm>
    }
    %low = arith.trunci %m7 : i32 to i8
    %positive = arith.uitofp %low : i8 to f32
    %back = arith.fptosi %positive : f32 to i32
    npu.scalar_store %back, %I[%c23] : i32, memref<24xi32, #gm>

    %two = arith.constant 2.0 : f32
    %square = math.powf %two, %two : f32
    npu.scalar_store %square, %F[%c0] : f32, memref<6xf32, #gm>
    %most = arith.maxnumf %nan, %x : f32
    npu.scalar_store %most, %F[%c1] : f32, memref<6xf32, #gm>
    %negative = arith.negf %x : f32
    npu.scalar_store %negative, %F[%c2] : f32, memref<6xf32, #gm>
    // 1.5 + 2^-13 rounds to 1.5 in f16.
    %h = arith.constant 1.5 : f16
    %tiny = arith.constant 1.220703e-04 : f16
    %hsum = arith.addf %h, %tiny : f16
    %hwide = arith.extf %hsum : f16 to f32
    npu.scalar_store %hwide, %F[%c3] : f32, memref<6xf32, #gm>
    %hundred = arith.constant 200 : i32
    %real = arith.sitofp %hundred : i32 to f32
    npu.scalar_store %real, %F[%c4] : f32, memref<6xf32, #gm>
    %given = arith.sitofp %n : i32 to f32
    npu.scalar_store %given, %F[%c5] : f32, memref<6xf32, #gm>
    %fine = arith.cmpi eq, %fact, %fact : i32
    npu.assert %fine, "fine"
  }
  return
}
