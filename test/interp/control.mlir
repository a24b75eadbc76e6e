// RUN: tilewright-run %s --function loops | FileCheck %s --check-prefix=LOOPS
// RUN: tilewright-run %s --function blocks | FileCheck %s --check-prefix=BLOCKS
// RUN: tilewright-run %s --function host --symbol M=5 | FileCheck %s --check-prefix=HOST
// RUN: not tilewright-run %s --function host --symbol M=0 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: tilewright-run %s --function fresh_tiles | FileCheck %s --check-prefix=FRESH
// RUN: tilewright-run %s --function channels | FileCheck %s --check-prefix=CHANNEL
// RUN: tilewright-run %s --function choose --set 2=0 | FileCheck %s --check-prefix=CHOOSE

#ub = #tile.scope<ub>
#workspace = #tile.scope<workspace>

// Values that change places in a loop, a while, an if.
func.func @loops() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c10 = arith.constant 10 : index
  %a, %b = scf.for %i = %c0 to %c10 step %c1 iter_args(%x = %c0, %y = %c1) -> (index, index) {
    %z = arith.addi %x, %y : index
    scf.yield %y, %z : index, index
  }
  tile.print "fibonacci" () scalar %a : index
  %p, %q = scf.for %i = %c1 to %c10 step %c2 iter_args(%x = %a, %y = %b) -> (index, index) {
    scf.yield %y, %x : index, index
  }
  tile.print "swapped" () scalar %p : index
  %n = scf.while (%v = %c1) : (index) -> index {
    %less = arith.cmpi slt, %v, %c10 : index
    scf.condition(%less) %v : index
  } do {
  ^bb0(%v: index):
    %w = arith.muli %v, %c2 : index
    scf.yield %w : index
  }
  tile.print "while" () scalar %n : index
  %large = arith.cmpi sgt, %n, %c10 : index
  %r = scf.if %large -> index {
    scf.yield %n : index
  } else {
    scf.yield %c0 : index
  }
  tile.print "if" () scalar %r : index
  scf.for %i = %c10 to %c0 step %c1 {
    tile.print "never" () scalar %i : index
  }
  return
}
// LOOPS:      fibonacci: 55
// LOOPS-NEXT: swapped: 89
// LOOPS-NEXT: while: 16
// LOOPS-NEXT: if: 16
// LOOPS-NOT: never

// Blocks run in logical order, the first extent fastest.
func.func @blocks(%A: memref<4x3x2xindex>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  tile.launch (%x, %y, %z) in (%c2, %c3, %c2) {
    %zz = arith.muli %z, %c3 : index
    %yz = arith.addi %zz, %y : index
    %yy = arith.muli %yz, %c2 : index
    %id = arith.addi %yy, %x : index
    tile.print "" () scalar %id : index
  }
  return
}
// BLOCKS:      {{^}}0{{$}}
// BLOCKS-NEXT: {{^}}1{{$}}
// BLOCKS-NEXT: {{^}}2{{$}}
// BLOCKS-NEXT: {{^}}3{{$}}
// BLOCKS-NEXT: {{^}}4{{$}}
// BLOCKS-COUNT-6: {{^[0-9]+$}}
// BLOCKS-NEXT: {{^}}11{{$}}

// A host program: a symbolic size, a call, two launches, scratch between them.
func.func @host(%A: memref<?xf32> {tile.name = "A", tile.shape = affine_map<()[s0] -> (s0)>, tile.output})
    attributes {tile.symbols = ["M"]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  %M = tile.symbol "M"
  %half = arith.constant 0.5 : f32
  %up = arith.addi %M, %c1 : index
  %grid = arith.divui %up, %c2 : index
  %scratch = memref.alloc(%M) : memref<?xf32>
  tile.launch (%b) in (%grid) {
    %at = arith.muli %b, %c2 : index
    tile.fill %half : f32, (%scratch[%at] [%c2] : memref<?xf32>)
  }
  tile.launch (%b) in (%grid) {
    %at = arith.muli %b, %c2 : index
    %twice = func.call @double(%half) : (f32) -> f32
    tile.elementwise <mul>(%A[%at] [%c2] : memref<?xf32>, %scratch[%at] [%c2] : memref<?xf32>) scalar %twice : f32
  }
  memref.dealloc %scratch : memref<?xf32>
  return
}
func.func private @double(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}
// HOST:      argument 0 (A): float32 [5]
// HOST-NEXT: tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
// EMPTY: error: E0503: the grid of T.Kernel has an extent of 0, so no block would run

// A tile is zero at each execution of its alloc: in each block, in each iteration.
func.func @fresh_tiles() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.launch (%b) in (%c2) {
    %T = tile.alloc "T" : memref<1xindex, #ub>
    scf.for %i = %c0 to %c2 step %c1 {
      %U = tile.alloc "U" : memref<1xindex, #ub>
      %t = tile.load %T[%c0] : memref<1xindex, #ub> -> index
      %u = tile.load %U[%c0] : memref<1xindex, #ub> -> index
      tile.print "T" () scalar %t : index
      tile.print "U" () scalar %u : index
      tile.store %c1, %T[%c0] : index, memref<1xindex, #ub>
      tile.store %c1, %U[%c0] : index, memref<1xindex, #ub>
    }
  }
  return
}
// FRESH:      T: 0
// FRESH-NEXT: U: 0
// FRESH-NEXT: T: 1
// FRESH-NEXT: U: 0
// FRESH-NEXT: T: 0
// FRESH-NEXT: U: 0
// FRESH-NEXT: T: 1
// FRESH-NEXT: U: 0

// Slot rotation and the ends of a channel do nothing.
func.func @channels(%A: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %three = arith.constant 3.0 : f32
  tile.launch (%b) in (%c1) {
    %W = tile.alloc "W" {slots = 2 : i64} : memref<2xf32, #workspace>
    %T = tile.alloc "T" {slots = 2 : i64} : memref<2xf32, #ub>
    tile.acquire %W on <aic> : memref<2xf32, #workspace>
    tile.fill %three : f32, (%W[%c0] [%c2] : memref<2xf32, #workspace>)
    tile.publish %W on <aic> : memref<2xf32, #workspace>
    tile.advance %T : memref<2xf32, #ub>
    tile.wait %W on <aiv> : memref<2xf32, #workspace>
    tile.copy(%T[%c0] [%c2] : memref<2xf32, #ub>, %W[%c0] [%c2] : memref<2xf32, #workspace>)
    tile.release %W on <aiv> : memref<2xf32, #workspace>
    tile.print "T" (%T[%c0] [%c2] : memref<2xf32, #ub>)
  }
  return
}
// CHANNEL: T: tensor([3., 3.])

// Buffers are values too.
func.func @choose(%A: memref<1xi32>, %B: memref<1xi32>, %first: i1) {
  %c0 = arith.constant 0 : index
  %five = arith.constant 5 : i32
  %zero = arith.constant 0 : i32
  tile.store %zero, %A[%c0] : i32, memref<1xi32>
  %C = arith.select %first, %A, %B : memref<1xi32>
  %D = memref.cast %C : memref<1xi32> to memref<?xi32>
  memref.store %five, %D[%c0] : memref<?xi32>
  %a = memref.load %A[%c0] : memref<1xi32>
  %b = memref.load %B[%c0] : memref<1xi32>
  tile.print "A" () scalar %a : i32
  tile.print "B" () scalar %b : i32
  return
}
// CHOOSE: A: 0
// CHOOSE: B: 5
