// clang-19 -O1 -fopenmp -S -emit-llvm -fno-discard-value-names openmp.c, attributes and names of the file taken away
void scale(float* restrict y, const float* restrict x, int n) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < 16; ++j) y[16 * i + j] = 2 * x[16 * i + j];
}
float total(const float* x, long n) {
    float sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
    for (long i = 0; i < n; ++i) sum += x[i];
    return sum;
}
