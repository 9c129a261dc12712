// Predict the rows of a file with an ONNX model: java -cp onnxruntime.jar Predict.java MODEL.onnx ROWS.csv
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

public class Predict {
    public static void main(String[] given) throws Exception {
        double[][] rows = Files.readAllLines(Path.of(given[1])).stream()
            .map(line -> Arrays.stream(line.split(",")).mapToDouble(Double::parseDouble).toArray())
            .toArray(double[][]::new);
        OrtEnvironment environment = OrtEnvironment.getEnvironment();
        try (OrtSession session = environment.createSession(given[0]);
             OnnxTensor numbers = OnnxTensor.createTensor(environment, rows);
             OrtSession.Result result = session.run(Map.of("numbers", numbers))) {
            for (double[] row : (double[][]) result.get("probabilities").get().getValue()) {
                System.out.println(Arrays.stream(row).mapToObj(Double::toString).collect(Collectors.joining(",")));
            }
        }
    }
}
