// RUN: tilewright-hivm --read %S/../fuzz/corpus/hivm/message.mlir | FileCheck %s --check-prefix=CALL
// RUN: tilewright-hivm --read %s | FileCheck %s
// RUN: sed 's/prefix = "x", //' %s | not tilewright-hivm --read - 2>&1 | FileCheck %s --check-prefix=BAD

// An assertion is a call with its text behind a pointer; a print is an operation until then.

// CALL: npu.assert %{{.*}}, "the first element must be positive"

// CHECK: npu.print "x" () scalar %{{.*}} : i32
// CHECK: npu.assert %{{.*}}, "y"
// BAD: error: a message without a text or a value

"builtin.module"() ({
  "func.func"() <{function_type = () -> (), sym_name = "_mlir_ciface_finish_debug", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = (i32) -> (), sym_name = "told"}> ({
  ^bb0(%n: i32):
    %c = "arith.constant"() <{value = 1 : i32}> : () -> i32
    "hivm.hir.debug"(%c) <{debugtype = "print", hex = false, prefix = "x", tcoretype = #hivm.tcore_type<VECTOR>}> : (i32) -> ()
    "hivm.hir.debug"(%c) <{debugtype = "assert", hex = false, prefix = "y", tcoretype = #hivm.tcore_type<VECTOR>}> : (i32) -> ()
    "func.call"() <{callee = @_mlir_ciface_finish_debug}> : () -> ()
    "func.return"() : () -> ()
  }) {hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>} : () -> ()
}) : () -> ()
