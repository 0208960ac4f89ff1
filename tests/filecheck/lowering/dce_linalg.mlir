// RUN: mlirad-opt %s -p mlirad-dce | filecheck %s
// RUN: mlirad-opt %s -p mlirad-nd-to-linalg,mlirad-dce | filecheck %s

// What linalg's ops do to memory is known before any pass runs: on tensors they only compute.
// CHECK-LABEL: func.func @unused
// CHECK-NOT: linalg
// CHECK: return %x
func.func @unused(%x: tensor<3xf64>) -> tensor<3xf64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
       ins(%x : tensor<3xf64>) outs(%x : tensor<3xf64>) {
  ^bb0(%a: f64, %b: f64):
    linalg.yield %a : f64
  } -> tensor<3xf64>
  return %x : tensor<3xf64>
}

// On memrefs they write.
// CHECK-LABEL: func.func @written
// CHECK: linalg.fill
func.func @written(%x: memref<3xf64>, %v: f64) {
  linalg.fill ins(%v : f64) outs(%x : memref<3xf64>)
  return
}
