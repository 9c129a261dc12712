/* Predict the rows of standard input with an exported model: cc -std=c99 main.c model.c -lm && ./a.out < ROWS.csv */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FEATURES 10
#define CLASSES 2

int32_t model_predict(const double *numbers, double *probabilities);

int main(void)
{
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        double numbers[FEATURES], probabilities[CLASSES];
        char *at = line;
        for (int j = 0; j < FEATURES; j++) {
            numbers[j] = strtod(at, &at);
            at += *at == ',';
        }
        model_predict(numbers, probabilities);
        for (int k = 0; k < CLASSES; k++) printf(k ? ",%.17g" : "%.17g", probabilities[k]);
        printf("\n");
    }
    return 0;
}
