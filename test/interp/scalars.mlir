// RUN: tilewright-run %s --function integers | FileCheck %s --check-prefix=INT
// RUN: tilewright-run %s --function unsigned | FileCheck %s --check-prefix=UNS
// RUN: tilewright-run %s --function truth | FileCheck %s --check-prefix=BOOL
// RUN: tilewright-run %s --function floats | FileCheck %s --check-prefix=FLOAT
// RUN: tilewright-run %s --function conversions | FileCheck %s --check-prefix=CONV
// RUN: tilewright-run %s --function functions | FileCheck %s --check-prefix=FN
// RUN: tilewright-run %s --function affine | FileCheck %s --check-prefix=AFFINE

func.func @integers() {
  %a = arith.constant -7 : i32
  %b = arith.constant 2 : i32
  %zero = arith.constant 0 : i32
  %max = arith.constant 2147483647 : i32
  %min = arith.constant -2147483648 : i32
  %m1 = arith.constant -1 : i32
  %big = arith.constant 33 : i32
  %q = arith.divsi %a, %b : i32
  tile.print "divsi" () scalar %q : i32
  %r = arith.remsi %a, %b : i32
  tile.print "remsi" () scalar %r : i32
  %f = arith.floordivsi %a, %b : i32
  tile.print "floordivsi" () scalar %f : i32
  %c = arith.ceildivsi %a, %b : i32
  tile.print "ceildivsi" () scalar %c : i32
  %w = arith.addi %max, %b : i32
  tile.print "wrap" () scalar %w : i32
  %o = arith.divsi %min, %m1 : i32
  tile.print "overflow" () scalar %o : i32
  %z = arith.divsi %a, %zero : i32
  tile.print "by zero" () scalar %z : i32
  %s = arith.shli %b, %big : i32
  tile.print "shift out" () scalar %s : i32
  %t = arith.shrsi %a, %big : i32
  tile.print "sign stays" () scalar %t : i32
  %p = math.ipowi %a, %b : i32
  tile.print "power" () scalar %p : i32
  %n = math.absi %a : i32
  tile.print "abs" () scalar %n : i32
  return
}
// INT:      divsi: -3
// INT-NEXT: remsi: -1
// INT-NEXT: floordivsi: -4
// INT-NEXT: ceildivsi: -3
// INT-NEXT: wrap: -2147483647
// INT-NEXT: overflow: -2147483648
// INT-NEXT: by zero: 0
// INT-NEXT: shift out: 0
// INT-NEXT: sign stays: -1
// INT-NEXT: power: 49
// INT-NEXT: abs: 7

func.func @unsigned() {
  %a = arith.constant -7 : i8
  %b = arith.constant 2 : i8
  %q = arith.divui %a, %b : i8
  tile.print "divui" () scalar %q : i8
  %s = arith.shrui %a, %b : i8
  tile.print "shrui" () scalar %s : i8
  %x = arith.extui %a : i8 to i32
  tile.print "extui" () scalar %x : i32
  %y = arith.extsi %a : i8 to i64
  tile.print "extsi" () scalar %y : i64
  %g = arith.cmpi ugt, %a, %b : i8
  tile.print "ugt" () scalar %g : i1
  %m = arith.minui %a, %b : i8
  tile.print "minui" () scalar %m : i8
  %t = arith.trunci %x : i32 to i8
  tile.print "trunci" () scalar %t : i8
  %z = math.ctlz %b : i8
  tile.print "ctlz" () scalar %z : i8
  return
}
// UNS:      divui: 124
// UNS-NEXT: shrui: 62
// UNS-NEXT: extui: 249
// UNS-NEXT: extsi: -7
// UNS-NEXT: ugt: True
// UNS-NEXT: minui: 2
// UNS-NEXT: trunci: -7
// UNS-NEXT: ctlz: 6

// A set i1 is -1 where signs count.
func.func @truth() {
  %true = arith.constant true
  %false = arith.constant false
  %s = arith.extsi %true : i1 to i32
  tile.print "extsi" () scalar %s : i32
  %u = arith.extui %true : i1 to i32
  tile.print "extui" () scalar %u : i32
  %lt = arith.cmpi slt, %true, %false : i1
  tile.print "slt" () scalar %lt : i1
  %x = arith.xori %true, %true : i1
  tile.print "xor" () scalar %x : i1
  %f = arith.uitofp %true : i1 to f32
  tile.print "float" () scalar %f : f32
  return
}
// BOOL:      extsi: -1
// BOOL-NEXT: extui: 1
// BOOL-NEXT: slt: True
// BOOL-NEXT: xor: False
// BOOL-NEXT: float: 1

// f16 and bf16 are computed in f32 and rounded once per op.
func.func @floats() {
  %a = arith.constant 2048.0 : f16
  %one = arith.constant 1.0 : f16
  %s = arith.addf %a, %one : f16
  tile.print "f16" () scalar %s : f16
  %b = arith.constant 256.0 : bf16
  %oneb = arith.constant 1.0 : bf16
  %t = arith.addf %b, %oneb : bf16
  tile.print "bf16" () scalar %t : bf16
  %x = arith.constant 1.0e30 : f32
  %p = arith.mulf %x, %x : f32
  tile.print "overflow" () scalar %p : f32
  %nan = arith.subf %p, %p : f32
  tile.print "nan" () scalar %nan : f32
  %mx = arith.maximumf %nan, %x : f32
  tile.print "maximumf" () scalar %mx : f32
  %mn = arith.maxnumf %nan, %x : f32
  tile.print "maxnumf" () scalar %mn : f32
  %o = arith.cmpf olt, %nan, %x : f32
  tile.print "olt" () scalar %o : i1
  %u = arith.cmpf une, %nan, %nan : f32
  tile.print "une" () scalar %u : i1
  %r = arith.remf %s, %a : f16
  tile.print "remf" () scalar %r : f16
  return
}
// FLOAT:      f16: 2048
// FLOAT-NEXT: bf16: 256
// FLOAT-NEXT: overflow: inf
// FLOAT-NEXT: nan: nan
// FLOAT-NEXT: maximumf: nan
// FLOAT-NEXT: maxnumf: 1e+30
// FLOAT-NEXT: olt: False
// FLOAT-NEXT: une: True
// FLOAT-NEXT: remf: 0

func.func @conversions() {
  %a = arith.constant -2.75 : f32
  %big = arith.constant 1.0e10 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %i = arith.fptosi %a : f32 to i32
  tile.print "truncates" () scalar %i : i32
  %u = arith.fptoui %a : f32 to i8
  tile.print "unsigned" () scalar %u : i8
  %s = arith.fptosi %big : f32 to i32
  tile.print "saturates" () scalar %s : i32
  %n = arith.fptosi %nan : f32 to i32
  tile.print "nan" () scalar %n : i32
  %w = arith.constant 16777217 : i32
  %f = arith.sitofp %w : i32 to f32
  tile.print "half even" () scalar %f : f32
  %t = arith.constant 2049.0 : f32
  %h = arith.truncf %t : f32 to f16
  tile.print "truncf" () scalar %h : f16
  %one = arith.constant 1.0 : f32
  %bits = arith.bitcast %one : f32 to i32
  tile.print "bits" () scalar %bits : i32
  %index = arith.index_cast %i : i32 to index
  tile.print "index" () scalar %index : index
  return
}
// CONV:      truncates: -2
// CONV-NEXT: unsigned: 0
// CONV-NEXT: saturates: 2147483647
// CONV-NEXT: nan: 0
// CONV-NEXT: half even: 1.67772e+07
// CONV-NEXT: truncf: 2048
// CONV-NEXT: bits: 1065353216
// CONV-NEXT: index: -2

func.func @functions() {
  %x = arith.constant 0.5 : f32
  %y = arith.constant 2.5 : f32
  %two = arith.constant 2 : i32
  %a = math.exp %x : f32
  tile.print "exp" () scalar %a : f32
  %b = math.log2 %x : f32
  tile.print "log2" () scalar %b : f32
  %c = math.rsqrt %y : f32
  tile.print "rsqrt" () scalar %c : f32
  %d = math.round %y : f32
  tile.print "round" () scalar %d : f32
  %e = math.roundeven %y : f32
  tile.print "roundeven" () scalar %e : f32
  %f = math.powf %y, %x : f32
  tile.print "powf" () scalar %f : f32
  %g = math.fma %x, %y, %y : f32
  tile.print "fma" () scalar %g : f32
  %h = math.erf %x : f32
  tile.print "erf" () scalar %h : f32
  %i = math.sin %x : f32
  tile.print "sin" () scalar %i : f32
  %j = math.fpowi %y, %two : f32, i32
  tile.print "fpowi" () scalar %j : f32
  %k = math.copysign %y, %b : f32
  tile.print "copysign" () scalar %k : f32
  return
}
// FN:      exp: 1.64872
// FN-NEXT: log2: -1
// FN-NEXT: rsqrt: 0.632456
// FN-NEXT: round: 3
// FN-NEXT: roundeven: 2
// FN-NEXT: powf: 1.58114
// FN-NEXT: fma: 3.75
// FN-NEXT: erf: 0.5205
// FN-NEXT: sin: 0.479426
// FN-NEXT: fpowi: 6.25
// FN-NEXT: copysign: -2.5

func.func @affine() {
  %a = arith.constant -7 : index
  %b = arith.constant 4 : index
  %x = affine.apply affine_map<(d0)[s0] -> (d0 floordiv 2 + s0 * 10)>(%a)[%b]
  tile.print "floordiv" () scalar %x : index
  %m = affine.apply affine_map<(d0) -> (d0 mod 4)>(%a)
  tile.print "mod" () scalar %m : index
  %c = affine.apply affine_map<(d0) -> (d0 ceildiv 2)>(%a)
  tile.print "ceildiv" () scalar %c : index
  %n = affine.min affine_map<(d0, d1) -> (d0, d1 - 20, 3)>(%a, %b)
  tile.print "min" () scalar %n : index
  %p = affine.max affine_map<(d0, d1) -> (d0, d1 - 20, 3)>(%a, %b)
  tile.print "max" () scalar %p : index
  return
}
// AFFINE:      floordiv: 36
// AFFINE-NEXT: mod: 1
// AFFINE-NEXT: ceildiv: -3
// AFFINE-NEXT: min: -16
// AFFINE-NEXT: max: 3
