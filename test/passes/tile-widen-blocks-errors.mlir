// RUN: tilewright-opt %s --tile-widen-blocks="chip=910z9" --verify-diagnostics

// expected-error@+1 {{unknown chip '910z9'}}
func.func @any_kernel() {
  return
}
