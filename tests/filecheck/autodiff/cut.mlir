// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-canonicalize,mlirad-cse,mlirad-dce | filecheck %s
// Which values of a trip are stored, and which are computed once more, is a minimum cut. To store what the reverse
// sweep names would often store more: what it names may be cheap to compute from fewer values, or lead to fewer. To
// store only the inputs of a trip would compute every exp twice. Storing a number costs as much as six additions.

// Two numbers are needed, b and c, and s beside them, as the derivative by v. All come from s, which is stored:
//
//     source -- s ----> a --+--> b  (needed)        stored: s        1 number a trip
//               |           +--> c  (needed)        computed: a, b, c
//               +--> (needed)
//
// CHECK-LABEL: func.func private @recomputed.vjp
// CHECK:         ad.tape {{.*}}: tensor<9xf64>
// CHECK-NOT:     ad.tape
// CHECK:         scf.for %i = {{.*}} iter_args(%s = %unit, %[[TAPE:.+]] = %{{.*}}) ->
// CHECK-NEXT:      nd.insert %s, %[[TAPE]][%i]
// CHECK:         scf.for
// CHECK:           %[[S:s_[0-9]+]] = nd.extract %tape[
// CHECK:           %[[A:[^ ]+]] = nd.mul %{{v_[0-9]+}}, %[[S]]
// CHECK-DAG:       nd.sub %[[A]], %unit
// CHECK-DAG:       nd.add %[[A]], %unit
// CHECK:         recomputed = 4 : i64, stored = 1 : i64
func.func private @recomputed(%x: tensor<9xf64>) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %unit = nd.constant {value = 1.0 : f64} : f64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %unit) -> (f64) : i64 {
    %v = nd.extract %x[%i] : tensor<9xf64> -> f64
    %a = nd.mul %v, %s : f64
    %b = nd.add %a, %unit : f64
    %c = nd.sub %a, %unit : f64
    %d = nd.mul %b, %c : f64
    scf.yield %d : f64
  }
  return %y : f64
}

// Only w is needed, for its cosine. It is stored, and not what it comes from:
//
//     source -- p --+
//                   +--> w  (needed)                stored: w        1 number a trip
//     source -- q --+                               p and q: 2 numbers a trip
//
// CHECK-LABEL: func.func private @narrow.vjp
// CHECK:         ad.tape {{.*}}: tensor<9xf64>
// CHECK-NOT:     ad.tape
// CHECK:         %w = nd.add %p, %q
// CHECK-NEXT:    nd.insert %w,
// CHECK-NOT:     nd.insert
// CHECK:         scf.for
// CHECK:           %[[W:w_[0-9]+]] = nd.extract %tape[
// CHECK:           nd.cos %[[W]]
// CHECK:         ad.recovered = {stored = 1 : i64
func.func private @narrow(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %half = nd.constant {value = 0.5 : f64} : f64
  %p_last, %q_last, %y = scf.for %i = %zero to %n step %one iter_args(%p = %x, %q = %x, %t = %x) -> (f64, f64, f64) : i64 {
    %w = nd.add %p, %q : f64
    %sin = nd.sin %w : f64
    %t2 = nd.add %t, %sin : f64
    %p2 = nd.mul %p, %half : f64
    %q2 = nd.sub %p, %q : f64
    scf.yield %p2, %q2, %t2 : f64, f64, f64
  }
  return %y : f64
}

// s, e and b are needed. An exp costs more than a slot: it is stored, and what is cheap is computed from it:
//
//     source -- s ----> a ====> e ----> b  (needed)       stored: s, e     computed: b
//               |               +--> (needed)
//               +--> (needed)
//
// CHECK-LABEL: func.func private @costly.vjp
// CHECK:         ad.tape {{.*}}: tensor<18xf64>
// CHECK:         nd.insert %s,
// CHECK:         %e = nd.exp
// CHECK:         nd.insert %e,
// CHECK:         scf.for
// CHECK-NOT:       nd.exp
// CHECK:           %[[E:e_[0-9]+]] = nd.extract %tape[
// CHECK:           nd.add %[[E]], %half
// CHECK:         recomputed = 1 : i64, stored = 2 : i64
func.func private @costly(%x: f64) -> f64 {
  %zero = nd.constant {value = 0 : i64} : i64
  %one = nd.constant {value = 1 : i64} : i64
  %n = nd.constant {value = 9 : i64} : i64
  %half = nd.constant {value = 0.5 : f64} : f64
  %y = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (f64) : i64 {
    %a = nd.mul %s, %half : f64
    %e = nd.exp %a : f64
    %b = nd.add %e, %half : f64
    %d = nd.mul %b, %s : f64
    scf.yield %d : f64
  }
  return %y : f64
}

func.func @all(%x: tensor<9xf64>, %v: f64, %u: f64) -> (tensor<9xf64>, f64, f64) {
  %y0, %d0 = ad.vjp @recomputed(%x)(%u) wrt [0] outs [0] : (tensor<9xf64>)(f64) -> (f64, tensor<9xf64>)
  %y1, %d1 = ad.vjp @narrow(%v)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  %y2, %d2 = ad.vjp @costly(%v)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  return %d0, %d1, %d2 : tensor<9xf64>, f64, f64
}
