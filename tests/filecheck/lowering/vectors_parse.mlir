// RUN: mlirad-opt %s | filecheck %s

// xDSL's comparisons, casts and selections know scalars only; ours print and parse vectors as MLIR does.
// CHECK-LABEL: func.func @vectors
// CHECK-NEXT:  %[[M:.*]] = arith.cmpf ogt, %v, %w : vector<4xf64>
// CHECK-NEXT:  arith.select %[[M]], %v, %w : vector<4xi1>, vector<4xf64>
// CHECK-NEXT:  arith.select %c, %v, %w : vector<4xf64>
// CHECK-NEXT:  %[[I:.*]] = arith.fptosi %v : vector<4xf64> to vector<4xi32>
// CHECK-NEXT:  %[[L:.*]] = arith.extsi %[[I]] : vector<4xi32> to vector<4xi64>
// CHECK-NEXT:  arith.cmpi slt, %[[L]], %[[L]] : vector<4xi64>
// CHECK-NEXT:  arith.sitofp %[[L]] : vector<4xi64> to vector<4xf64>
func.func @vectors(%c: i1, %v: vector<4xf64>, %w: vector<4xf64>) {
  %m = arith.cmpf ogt, %v, %w : vector<4xf64>
  %s = arith.select %m, %v, %w : vector<4xi1>, vector<4xf64>
  %t = arith.select %c, %v, %w : vector<4xf64>
  %i = arith.fptosi %v : vector<4xf64> to vector<4xi32>
  %l = arith.extsi %i : vector<4xi32> to vector<4xi64>
  %n = arith.cmpi slt, %l, %l : vector<4xi64>
  %x = arith.sitofp %l : vector<4xi64> to vector<4xf64>
  func.return
}
