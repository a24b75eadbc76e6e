// RUN: tilewright-run %s --function op_by_op --set 0=iota | FileCheck %s --check-prefix=OPS
// RUN: tilewright-run %s --function last_wins | FileCheck %s --check-prefix=LAST
// RUN: tilewright-run %s --function branches | FileCheck %s --check-prefix=IF
// RUN: tilewright-run %s --function lane_bounds | FileCheck %s --check-prefix=FOR
// RUN: tilewright-run %s --function lane_while | FileCheck %s --check-prefix=WHILE
// RUN: tilewright-run %s --function lazy --set 0=iota | FileCheck %s --check-prefix=LAZY
// RUN: tilewright-run %s --function variables --set 0=iota | FileCheck %s --check-prefix=VAR
// RUN: tilewright-run %s --function nested | FileCheck %s --check-prefix=NESTED
// RUN: tilewright-run %s --function atomics | FileCheck %s --check-prefix=ATOMIC
// RUN: tilewright-run %s --function boxes --set 0=iota | FileCheck %s --check-prefix=BOXES
// RUN: tilewright-run %s --function gather_table --set 0=iota | FileCheck %s --check-prefix=GATHER
// RUN: tilewright-run %s --function swap | FileCheck %s --check-prefix=SWAP

#ub = #tile.scope<ub>
#local = #tile.scope<local>

// Each op runs for all points before the next: A[i] = A[i + 1] reads only old elements, and the load after
// the store sees what other points stored.
func.func @op_by_op(%A: memref<5xi32>, %B: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  tile.parallel (%i) in (%c4) {
    %i1 = arith.addi %i, %c1 : index
    %a = tile.load %A[%i1] : memref<5xi32> -> i32
    tile.store %a, %A[%i] : i32, memref<5xi32>
    %r = arith.subi %c3, %i : index
    %b = tile.load %A[%r] : memref<5xi32> -> i32
    tile.store %b, %B[%i] : i32, memref<4xi32>
  }
  tile.print "A" (%A[%c0] [%c5] : memref<5xi32>)
  tile.print "B" (%B[%c0] [%c4] : memref<4xi32>)
  return
}
// OPS: A: tensor([1, 2, 3, 4, 4], dtype=int32)
// OPS: B: tensor([4, 3, 2, 1], dtype=int32)

// Of several points that store to one element the last wins, under a mask the last that takes part.
func.func @last_wins(%A: memref<2xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  tile.parallel (%i, %j) in (%c2, %c5) {
    %x = arith.muli %i, %c5 : index
    %n = arith.addi %x, %j : index
    tile.store %n, %A[%c0] : index, memref<2xindex>
    %early = arith.cmpi slt, %n, %c3 : index
    scf.if %early {
      tile.store %n, %A[%c1] : index, memref<2xindex>
    }
  }
  tile.print "A" (%A[%c0] [%c2] : memref<2xindex>)
  return
}
// LAST: A: tensor([9, 2])

// Both branches run under their masks, the condition taken before either; values merge.
func.func @branches(%A: memref<6xi32>, %B: memref<6xi32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %m1 = arith.constant -1 : i32
  %zero = arith.constant 0 : i32
  tile.fill %zero : i32, (%A[%c0] [%c6] : memref<6xi32>)
  tile.parallel (%i) in (%c6) {
    %n = arith.index_cast %i : index to i32
    %even = arith.remui %i, %c2 : index
    %odd = arith.index_cast %even : index to i1
    %v = scf.if %odd -> i32 {
      %far = arith.cmpi sge, %i, %c3 : index
      %w = scf.if %far -> i32 {
        tile.store %m1, %A[%i] : i32, memref<6xi32>
        scf.yield %m1 : i32
      } else {
        scf.yield %zero : i32
      }
      scf.yield %w : i32
    } else {
      tile.store %n, %A[%i] : i32, memref<6xi32>
      scf.yield %n : i32
    }
    tile.store %v, %B[%i] : i32, memref<6xi32>
  }
  tile.print "A" (%A[%c0] [%c6] : memref<6xi32>)
  tile.print "B" (%B[%c0] [%c6] : memref<6xi32>)
  return
}
// IF: A: tensor([ 0,  0,  2, -1,  4, -1], dtype=int32)
// IF: B: tensor([ 0,  0,  2, -1,  4, -1], dtype=int32)

// A loop whose bound differs by point: B[i] = 0 + 1 + ... + (i - 1), with the counter stored on the way.
func.func @lane_bounds(%A: memref<5xindex>, %B: memref<5xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  tile.fill %c0 : index, (%A[%c0] [%c5] : memref<5xindex>)
  tile.parallel (%i) in (%c5) {
    %sum = scf.for %k = %c0 to %i step %c1 iter_args(%s = %c0) -> index {
      tile.store %k, %A[%i] : index, memref<5xindex>
      %t = arith.addi %s, %k : index
      scf.yield %t : index
    }
    tile.store %sum, %B[%i] : index, memref<5xindex>
  }
  tile.print "A" (%A[%c0] [%c5] : memref<5xindex>)
  tile.print "B" (%B[%c0] [%c5] : memref<5xindex>)
  return
}
// FOR: A: tensor([0, 0, 1, 2, 3])
// FOR: B: tensor([0, 0, 1, 3, 6])

// Each point leaves the loop by itself: steps until n halves to 0.
func.func @lane_while(%A: memref<6xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  tile.parallel (%i) in (%c6) {
    %rest, %steps = scf.while (%n = %i, %s = %c0) : (index, index) -> (index, index) {
      %more = arith.cmpi ne, %n, %c0 : index
      scf.condition(%more) %n, %s : index, index
    } do {
    ^bb0(%n: index, %s: index):
      %half = arith.shrui %n, %c1 : index
      %t = arith.addi %s, %c1 : index
      scf.yield %half, %t : index, index
    }
    tile.store %steps, %A[%i] : index, memref<6xindex>
  }
  tile.print "A" (%A[%c0] [%c6] : memref<6xindex>)
  return
}
// WHILE: A: tensor([0, 1, 2, 2, 3, 3])

// A tile element that only a masked-off point would read is no fault; a global tensor reads 0 outside.
func.func @lazy(%A: memref<3xf32>, %B: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %nine = arith.constant 9.0 : f32
  %T = tile.alloc "T" : memref<3xf32, #ub>
  tile.copy(%T[%c0] [%c3] : memref<3xf32, #ub>, %A[%c0] [%c3] : memref<3xf32>)
  tile.parallel (%i) in (%c6) {
    %in = arith.cmpi slt, %i, %c3 : index
    %x = scf.if %in -> f32 {
      %t = tile.load %T[%i] : memref<3xf32, #ub> -> f32
      scf.yield %t : f32
    } else {
      scf.yield %nine : f32
    }
    %g = tile.load %A[%i] : memref<3xf32> -> f32
    %p = tile.load %A[%i] {pad = 0.5 : f64} : memref<3xf32> -> f32
    %y = arith.addf %x, %g : f32
    %z = arith.addf %y, %p : f32
    tile.store %z, %B[%i] : f32, memref<6xf32>
    tile.store %z, %A[%i] : f32, memref<3xf32>
  }
  tile.print "B" (%B[%c0] [%c6] : memref<6xf32>)
  return
}
// LAZY: B: tensor([0.0000, 3.0000, 6.0000, 9.5000, 9.5000, 9.5000])

// A scalar variable assigned inside is one per point; afterwards it holds what the last point left.
func.func @variables(%A: memref<4xf32>, %B: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %start = arith.constant 10.0 : f32
  %v = tile.alloc "v" : memref<f32, #local>
  tile.store %start, %v[] : f32, memref<f32, #local>
  tile.parallel (%i) in (%c4) {
    %w = tile.alloc "w" : memref<f32, #local>
    %a = tile.load %A[%i] : memref<4xf32> -> f32
    %old = tile.load %v[] : memref<f32, #local> -> f32
    %sum = arith.addf %a, %old : f32
    tile.store %sum, %v[] : f32, memref<f32, #local>
    tile.store %a, %w[] : f32, memref<f32, #local>
    %x = tile.load %v[] : memref<f32, #local> -> f32
    %y = tile.load %w[] : memref<f32, #local> -> f32
    %z = arith.mulf %x, %y : f32
    tile.store %z, %B[%i] : f32, memref<4xf32>
  }
  %last = tile.load %v[] : memref<f32, #local> -> f32
  tile.print "v" () scalar %last : f32
  tile.print "B" (%B[%c0] [%c4] : memref<4xf32>)
  return
}
// VAR: v: 13
// VAR: B: tensor([ 0., 11., 24., 39.])

// A parallel inside a parallel, with extents that differ by point, and a variable of each outer point.
func.func @nested(%A: memref<3x3xindex>, %B: memref<3xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  tile.parallel (%i) in (%c3) {
    %v = tile.alloc "v" : memref<index, #local>
    %ten = arith.muli %i, %c10 : index
    %n = arith.addi %i, %c1 : index
    tile.parallel (%j) in (%n) {
      %x = arith.addi %ten, %j : index
      tile.store %x, %A[%i, %j] : index, memref<3x3xindex>
      tile.store %x, %v[] : index, memref<index, #local>
    }
    %last = tile.load %v[] : memref<index, #local> -> index
    tile.store %last, %B[%i] : index, memref<3xindex>
    tile.store %ten, %A[%i, %c0] : index, memref<3x3xindex>
  }
  tile.print "A" (%A[%c0, %c0] [%c3, %c3] : memref<3x3xindex>)
  tile.print "B" (%B[%c0] [%c3] : memref<3xindex>)
  return
}
// NESTED: A: tensor({{\[\[}} 0,
// NESTED: [10, 11,
// NESTED: [20, 21, 22]])
// NESTED: B: tensor([ 0, 11, 22])

// Atomics combine all points, also those that meet in one element.
func.func @atomics(%A: memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0 : i32
  tile.fill %zero : i32, (%A[%c0] [%c2] : memref<2xi32>)
  tile.parallel (%i) in (%c5) {
    %p = arith.remui %i, %c2 : index
    %n = arith.index_cast %i : index to i32
    tile.atomic <sum>(%A[%p] [%c1] : memref<2xi32>) scalar %n : i32
  }
  tile.print "A" (%A[%c0] [%c2] : memref<2xi32>)
  return
}
// ATOMIC: A: tensor([6, 4], dtype=int32)

// Box ops inside run point by point.
func.func @boxes(%A: memref<3x2xf32>, %B: memref<3x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  tile.parallel (%i) in (%c3) {
    %r = arith.subi %c2, %i : index
    tile.copy(%B[%r, %c0] [%c1, %c2] : memref<3x2xf32>, %A[%i, %c0] [%c1, %c2] : memref<3x2xf32>)
  }
  tile.print "B" (%B[%c0, %c0] [%c3, %c2] : memref<3x2xf32>)
  return
}
// BOXES:      B: tensor({{\[\[}}4., 5.],
// BOXES-NEXT:            [2., 3.],
// BOXES-NEXT:            [0., 1.]])

// An index that is loaded, affine maps of points.
func.func @gather_table(%A: memref<8xi32>, %B: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  tile.parallel (%i) in (%c4) {
    %k = affine.apply affine_map<(d0) -> (d0 * 2 + d0 floordiv 2)>(%i)
    %l = affine.min affine_map<(d0) -> (d0, 5)>(%k)
    %t = tile.load %A[%l] : memref<8xi32> -> i32
    %j = arith.index_cast %t : i32 to index
    %u = tile.load %A[%j] : memref<8xi32> -> i32
    tile.store %u, %B[%i] : i32, memref<4xi32>
  }
  tile.print "B" (%B[%c0] [%c4] : memref<4xi32>)
  return
}
// GATHER: B: tensor([0, 2, 5, 5], dtype=int32)

// Loop-carried values that change places, per point.
func.func @swap(%A: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c100 = arith.constant 100 : index
  tile.parallel (%i) in (%c4) {
    %a, %b = scf.for %k = %c0 to %i step %c1 iter_args(%x = %i, %y = %c100) -> (index, index) {
      scf.yield %y, %x : index, index
    }
    tile.store %a, %A[%i] : index, memref<4xindex>
  }
  tile.print "A" (%A[%c0] [%c4] : memref<4xindex>)
  return
}
// SWAP: A: tensor([  0, 100,   2, 100])
