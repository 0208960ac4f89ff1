// RUN: mlirad-opt %s -p 'mlirad-linalg-to-loops' | filecheck %s
// A long sum of float32: the partial sums of a block are float32, and are added up in float64.

// CHECK-LABEL: func.func @sum
// CHECK:         scf.for {{.*}} -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>)
// CHECK:           scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK:             arith.addf {{.*}} : vector<8xf32>
// CHECK:           arith.extf {{.*}} : vector<8xf32> to vector<8xf64>
// CHECK-NEXT:      arith.addf {{.*}} : vector<8xf64>
// CHECK:         arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>

// Few columns are summed with all sums in registers, in blocks of rows.
// CHECK-LABEL: func.func @columns
// CHECK:         scf.for {{.*}} -> (vector<8xf64>)
// CHECK:           scf.for {{.*}} -> (vector<8xf32>)
// CHECK:           arith.extf
#all = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#both = affine_map<(i, j) -> (i, j)>
#last = affine_map<(i, j) -> (j)>
func.func @sum(%x: memref<100000xf32>, %s: memref<f32>) {
  linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction"]}
      ins(%x : memref<100000xf32>) outs(%s : memref<f32>) {
  ^bb0(%e: f32, %a: f32):
    %t = arith.addf %a, %e : f32
    linalg.yield %t : f32
  }
  func.return
}

func.func @columns(%x: memref<100000x8xf32>, %s: memref<8xf32>) {
  linalg.generic {indexing_maps = [#both, #last], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<100000x8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%e: f32, %a: f32):
    %t = arith.addf %a, %e : f32
    linalg.yield %t : f32
  }
  func.return
}
