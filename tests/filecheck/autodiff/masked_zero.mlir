// RUN: mlirad-opt %s -p mlirad-differentiate,mlirad-dce,mlirad-tape,mlirad-cse,mlirad-dce | filecheck %s
// A cotangent that is zero because nothing needs the element does not meet an infinite factor.

// Every element is needed: only a factor that may be infinite where the op is finite is guarded, as the table of
// deviations says.
// CHECK-LABEL: func.func private @plain.vjp
// CHECK:         nd.cos
// CHECK:         %[[g:.*]] = nd.add
// CHECK:         %[[root:.*]] = nd.div %[[g]]
// CHECK:         nd.annihilate %[[root]] by %[[g]] : f64
// CHECK-NOT:     nd.annihilate
func.func private @plain(%x: f64) -> f64 {
  %s = nd.sqrt %x : f64
  %y = nd.sin %s : f64
  %z = nd.mul %y, %s : f64
  return %z : f64
}

// x log x is needed only where the condition holds: its products are guarded by their cotangent. A product with a
// number is not.
// CHECK-LABEL: func.func private @masked.vjp
// CHECK:         %[[g:.*]] = nd.select %c, %d_y, %
// CHECK:         %[[half:.*]] = nd.mul %[[g]], %
// CHECK-NEXT:    %[[product:.*]] = nd.mul %[[half]], %l : f64
// CHECK:         nd.annihilate %[[product]] by %[[half]] : f64
// CHECK:         nd.annihilate
// CHECK:         nd.annihilate
// CHECK-NOT:     nd.annihilate
func.func private @masked(%x: f64, %c: i1) -> f64 {
  %l = nd.log %x : f64
  %v = nd.mul %x, %l : f64
  %half = nd.constant {value = 0.5 : f64} : f64
  %h = nd.mul %v, %half : f64
  %zero = nd.constant {value = 0.0 : f64} : f64
  %y = nd.select %c, %h, %zero : i1, f64
  return %y : f64
}

// A value that only one branch uses is not needed either.
// CHECK-LABEL: func.func private @branch.vjp
// CHECK:         scf.if
// CHECK:         %[[g:[a-z_]+]], %{{.*}} = scf.if
// CHECK:         %[[product:.*]] = nd.mul %[[g]], %
// CHECK:         nd.annihilate %[[product]] by %[[g]] : f64
func.func private @branch(%x: f64, %c: i1) -> f64 {
  %v = nd.exp %x : f64
  %y = scf.if %c -> (f64) {
    scf.yield %v : f64
  } else {
    scf.yield %x : f64
  }
  return %y : f64
}

func.func @gradients(%x: f64, %c: i1, %u: f64) -> (f64, f64, f64) {
  %y, %dx = ad.vjp @plain(%x)(%u) wrt [0] outs [0] : (f64)(f64) -> (f64, f64)
  %z, %dz = ad.vjp @masked(%x, %c)(%u) wrt [0] outs [0] : (f64, i1)(f64) -> (f64, f64)
  %b, %db = ad.vjp @branch(%x, %c)(%u) wrt [0] outs [0] : (f64, i1)(f64) -> (f64, f64)
  return %dx, %dz, %db : f64, f64, f64
}
