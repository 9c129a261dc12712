// Predict the rows of a file with an ONNX model: node predict.mjs MODEL.onnx ROWS.csv
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// The package may be in any folder: NODE_PATH names it.
const ort = createRequire(import.meta.url)("onnxruntime-node");

const [model, file] = process.argv.slice(2);
const rows = readFileSync(file, "utf8").trim().split("\n").map((line) => line.split(",").map(Number));
const numbers = new ort.Tensor("float64", Float64Array.from(rows.flat()), [rows.length, rows[0].length]);
const session = await ort.InferenceSession.create(model);
const { probabilities } = await session.run({ numbers });
const classes = probabilities.dims[1];
for (let row = 0; row < rows.length; row++) {
  console.log(Array.from(probabilities.data.slice(row * classes, (row + 1) * classes)).join(","));
}
