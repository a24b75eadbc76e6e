// Every fault is an error at the op, after what was printed before it.
// RUN: not tilewright-run %s --function load_outside 2>&1 | FileCheck %s --check-prefix=LOAD
// RUN: not tilewright-run %s --function store_outside 2>&1 | FileCheck %s --check-prefix=STORE
// RUN: not tilewright-run %s --function lane_outside 2>&1 | FileCheck %s --check-prefix=LANE
// RUN: not tilewright-run %s --function box_outside --set 0=3 2>&1 | FileCheck %s --check-prefix=BOX
// RUN: not tilewright-run %s --function box_outside --set 0=-1 2>&1 | FileCheck %s --check-prefix=BOXLOW
// RUN: not tilewright-run %s --function negative_size --set 0=-2 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not tilewright-run %s --function sizes_differ --set 0=3 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: not tilewright-run %s --function huge_box --set 1=1000000000000 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not tilewright-run %s --function huge_tile 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: not tilewright-run %s --function huge_parallel --set 0=1000000000000 2>&1 | FileCheck %s --check-prefix=POINTS
// RUN: not tilewright-run %s --function asserts 2>&1 | FileCheck %s --check-prefix=ASSERT
// RUN: not tilewright-run %s --function lane_assert 2>&1 | FileCheck %s --check-prefix=LANEASSERT
// RUN: not tilewright-run %s --function endless --max-steps=100000 2>&1 | FileCheck %s --check-prefix=ENDLESS
// RUN: not tilewright-run %s --function endless_empty --max-steps=100000 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not tilewright-run %s --function zero_step --set 0=0 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not tilewright-run %s --function gemm_sizes --set 3=3 2>&1 | FileCheck %s --check-prefix=GEMM
// RUN: not tilewright-run %s --function gather_index 2>&1 | FileCheck %s --check-prefix=GATHER
// RUN: not tilewright-run %s --function unknown_op 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not tilewright-run %s --function unknown_type 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not tilewright-run %s --function branches 2>&1 | FileCheck %s --check-prefix=CFG
// RUN: not tilewright-run %s --function no_symbol 2>&1 | FileCheck %s --check-prefix=SYMBOL
// RUN: not tilewright-run %s --function recursion 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: not tilewright-run %s --function no_meaning 2>&1 | FileCheck %s --check-prefix=MEANING
// RUN: not tilewright-run %s --function mixed 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not tilewright-run %s --function tile_in_parallel 2>&1 | FileCheck %s --check-prefix=ALLOC
// RUN: not tilewright-run %s --function launch_in_launch 2>&1 | FileCheck %s --check-prefix=LAUNCH
// RUN: not tilewright-run %s --function negative_grid 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: not tilewright-run %s --function no_such_function 2>&1 | FileCheck %s --check-prefix=NAME

#ub = #tile.scope<ub>

func.func @load_outside() {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  tile.print "before" ()
  tile.launch (%b) in (%c2) {
    %T = tile.alloc "T" : memref<3x4xf32, #ub>
    %x = tile.load %T[%c0, %c4] : memref<3x4xf32, #ub> -> f32
  }
  return
}
// LOAD:      {{^}}before{{$}}
// LOAD:      faults.mlir:[[#@LINE-5]]:10: error: E0901: index (0, 4) is outside tile 'T' of shape (3, 4) (in block (0, 0, 0))

func.func @store_outside() {
  %m1 = arith.constant -1 : index
  %zero = arith.constant 0.0 : f32
  %T = tile.alloc "T" : memref<3xf32, #ub>
  tile.store %zero, %T[%m1] : f32, memref<3xf32, #ub>
  return
}
// STORE: error: E0901: index (-1) is outside tile 'T' of shape (3)

func.func @lane_outside() {
  %c4 = arith.constant 4 : index
  %T = tile.alloc "T" : memref<3xf32, #ub>
  tile.parallel (%i) in (%c4) {
    %x = tile.load %T[%i] : memref<3xf32, #ub> -> f32
  }
  return
}
// LANE: error: E0901: index (3) is outside tile 'T' of shape (3)

func.func @box_outside(%at: index) {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %T = tile.alloc "T" : memref<4xf32, #ub>
  tile.fill %zero : f32, (%T[%at] [%c2] : memref<4xf32, #ub>)
  return
}
// BOX: error: E0901: the box at (3) of size (2) reaches outside tile 'T' of shape (4)
// BOXLOW: error: E0901: the box at (-1) of size (2) reaches outside tile 'T' of shape (4)

func.func @negative_size(%n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %T = tile.alloc "T" : memref<4xf32, #ub>
  tile.fill %zero : f32, (%T[%c0] [%n] : memref<4xf32, #ub>)
  return
}
// NEGATIVE: error: E0901: a box of tile 'T' of shape (4) has size -2 in dimension 0

func.func @sizes_differ(%n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %T = tile.alloc "T" : memref<4xf32, #ub>
  %U = tile.alloc "U" : memref<4xf32, #ub>
  tile.copy(%T[%c0] [%n] : memref<4xf32, #ub>, %U[%c0] [%c2] : memref<4xf32, #ub>)
  return
}
// SIZES: error: a copy of a box of size (2) to one of size (3)

func.func @huge_box(%A: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  tile.fill %zero : f32, (%A[%c0] [%n] : memref<4xf32>)
  return
}
// HUGE: error: E0901: a box of a tensor of shape (4) is too large: (1000000000000)

func.func @huge_tile() {
  %T = tile.alloc "T" : memref<1000000x1000000x1000000xf32, #ub>
  return
}
// TILE: error: no memory for tile 'T'

func.func @huge_parallel(%n: index) {
  tile.parallel (%i, %j) in (%n, %n) {
    %x = arith.addi %i, %j : index
  }
  return
}
// POINTS: error: more than 16777216 points: (1000000000000, 1000000000000)

func.func @asserts() {
  %false = arith.constant false
  tile.assert %false, "M must be positive"
  return
}
// ASSERT: error: E0903: assertion failed: M must be positive

func.func @lane_assert() {
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  tile.parallel (%i) in (%c2) {
    %low = arith.cmpi slt, %i, %c1 : index
    scf.if %low {
      tile.assert %low, "not this one"
    }
    tile.assert %low, "this one"
  }
  return
}
// LANEASSERT: error: E0903: assertion failed: this one

func.func @endless() {
  %true = arith.constant true
  scf.while : () -> () {
    %more = arith.ori %true, %true : i1
    scf.condition(%more)
  } do {
    scf.yield
  }
  return
}
// ENDLESS: error: E0904: gave up after 100000 element operations; does the kernel end?

func.func @endless_empty() {
  %true = arith.constant true
  scf.while : () -> () {
    scf.condition(%true)
  } do {
    scf.yield
  }
  return
}
// EMPTY: error: E0904: gave up after 100000 element operations

func.func @zero_step(%step: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %step {
  }
  return
}
// STEP: error: the step of a loop must be positive, found 0

func.func @gemm_sizes(%A: memref<4x4xf32>, %B: memref<4x4xf32>, %C: memref<4x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  tile.gemm(%C[%c0, %c0] [%c4, %c4] : memref<4x4xf32>, %A[%c0, %c0] [%c4, %n] : memref<4x4xf32>, %B[%c0, %c0] [%c4, %c4] : memref<4x4xf32>)
  return
}
// GEMM: error: gemm: C is (4, 4), A is (4, 3), B is (4, 4)

func.func @gather_index() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %seven = arith.constant 7 : i32
  %T = tile.alloc "T" : memref<2xf32, #ub>
  %I = tile.alloc "I" : memref<2xi32, #ub>
  tile.fill %seven : i32, (%I[%c0] [%c2] : memref<2xi32, #ub>)
  tile.gather(%T[%c0] [%c2] : memref<2xf32, #ub>, %T[%c0] [%c2] : memref<2xf32, #ub>, %I[%c0] [%c2] : memref<2xi32, #ub>)
  return
}
// GATHER: error: E0901: gather: index 7 is outside a source row of 2 elements

func.func @unknown_op() {
  %x = arith.constant 1.0 : f32
  %y = math.atan %x : f32
  return
}
// OP: error: the interpreter does not run 'math.atan'

func.func @unknown_type() {
  %x = arith.constant 1 : i24
  return
}
// TYPE: error: the interpreter has no values of type i24

func.func @branches() {
  cf.br ^bb1
^bb1:
  return
}
// CFG: error: function 'branches' has no body of one block

func.func @no_symbol() {
  %x = tile.symbol "N"
  return
}
// SYMBOL: error: size 'N' has no value

func.func @recursion() {
  call @recursion() : () -> ()
  return
}
// DEEP: error: calls nest deeper than 100

func.func @no_meaning() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %T = tile.alloc "T" : memref<2xi32, #ub>
  tile.elementwise <exp>(%T[%c0] [%c2] : memref<2xi32, #ub>, %T[%c0] [%c2] : memref<2xi32, #ub>)
  return
}
// MEANING: error: exp has no meaning for int32 elements

func.func @mixed() {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %T = tile.alloc "T" : memref<2xi32, #ub>
  %F = tile.alloc "F" : memref<2xf32, #ub>
  tile.elementwise <add>(%F[%c0] [%c2] : memref<2xf32, #ub>, %T[%c0] [%c2] : memref<2xi32, #ub>, %F[%c0] [%c2] : memref<2xf32, #ub>)
  return
}
// MIXED: error: add: operands of float and integer type

func.func @tile_in_parallel() {
  %c2 = arith.constant 2 : index
  tile.parallel (%i) in (%c2) {
    %T = tile.alloc "T" : memref<2xi32, #ub>
  }
  return
}
// ALLOC: error: a tile is allocated inside tile.parallel

func.func @launch_in_launch() {
  %c2 = arith.constant 2 : index
  tile.launch (%i) in (%c2) {
    tile.launch (%j) in (%c2) {
    }
  }
  return
}
// LAUNCH: error: a launch inside a launch

func.func @negative_grid() {
  %m2 = arith.constant -2 : index
  tile.launch (%i) in (%m2) {
  }
  return
}
// GRID: error: E0503: grid extent 0 is negative: -2
// NAME: name one function with --function
