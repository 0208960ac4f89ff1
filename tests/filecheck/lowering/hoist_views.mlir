// RUN: mlirad-opt %s -p 'mlirad-hoist{only_views=true}' | filecheck %s

// Before differentiation only views leave loops, whatever the number of trips: the array gets one cotangent in the shape
// of the view, to which each trip adds an element. In the loop, each trip would make a whole array for its element.
//
// CHECK-LABEL: func.func @nested
// CHECK:         %[[ROWS:.*]] = nd.reshape %x
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      nd.exp %x
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        nd.extract %[[ROWS]]
func.func @nested(%x: tensor<12xf64>, %n: i64, %zero: f64) -> f64 {
  %c0 = nd.constant {value = 0 : i64} : i64
  %c1 = nd.constant {value = 1 : i64} : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f64) : i64 {
    %e = nd.exp %x : tensor<12xf64>
    %q = scf.for %j = %c0 to %n step %c1 iter_args(%t = %s) -> (f64) : i64 {
      %rows = nd.reshape %x : tensor<12xf64> to tensor<3x4xf64>
      %a = nd.extract %rows[%i, %j] : tensor<3x4xf64> -> f64
      %b = nd.extract %e[%j] : tensor<12xf64> -> f64
      %p = nd.mul %a, %b : f64
      %u = nd.add %t, %p : f64
      scf.yield %u : f64
    }
    scf.yield %q : f64
  }
  func.return %r : f64
}
