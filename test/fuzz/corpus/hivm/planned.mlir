module attributes {hacc.target = #hacc.target<"Ascend910B3">, hivm.module_core_type = #hivm.module_core_type<AIV>, memref.memref_as_ptr} {
  func.func @grids(%arg0: i64 {hacc.arg_type = #hacc.arg_type<ffts_base_address>}, %arg1: memref<?xi8, #hivm.address_space<gm>> {hacc.arg_type = #hacc.arg_type<sync_block_lock>}, %arg2: memref<?xi8, #hivm.address_space<gm>> {hacc.arg_type = #hacc.arg_type<workspace>}, %arg3: memref<?xi32, #hivm.address_space<gm>>, %arg4: memref<?xi32, #hivm.address_space<gm>>, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32, %arg9: i32, %arg10: i32) attributes {SyncBlockLockArgIdx = 0 : i64, WorkspaceArgIdx = 1 : i64, hacc.entry, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>, mix_mode = "aiv", tilewright.free_ub = array<i64: 0, 196608>} {
    "hivm.hir.set_ffts_base_addr"(%arg0) : (i64) -> ()
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c1000_i32 = arith.constant 1000 : i32
    %0 = "hivm.hir.get_block_idx"() : () -> i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = "hivm.hir.get_block_num"() : () -> i64
    %3 = arith.index_cast %2 : i64 to index
    scf.for %arg11 = %1 to %c1 step %3 {
      %4 = memref.load %arg3[%arg11] : memref<?xi32, #hivm.address_space<gm>>
      %5 = arith.muli %4, %c1000_i32 : i32
      %6 = arith.index_cast %5 : i32 to index
      %7 = arith.addi %6, %arg11 : index
      %8 = arith.index_cast %7 : index to i32
      memref.store %8, %arg4[%arg11] : memref<?xi32, #hivm.address_space<gm>>
    }
    "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}> : () -> ()
    return
  }
}

