/* Cubic splines, and the fastest motion along one within limits of velocity and acceleration (time-optimal path
 * parametrization by reachability analysis: Pham and Pham, IEEE Transactions on Robotics 2018). Arrays are row-major. */
#include <math.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_JOINTS 96 /* and further coordinates */
#define TINY 1e-10

/* Computes the slopes (n, m) of cubic splines through values (n, m) at knots (n,), n > 1, whose first two derivatives
 * are continuous. At both ends the second derivative is 0, or the first one if `at_rest`. `work` is (n,). */
EXPORT void timing_fit(int32_t n, int32_t m, const double* knots, const double* values, int32_t at_rest, double* work,
                       double* slopes) {
    for (int i = 0; i < n; i++) { /* forward elimination of the tridiagonal system */
        const double left = i > 0 ? 1.0 / (knots[i] - knots[i - 1]) : 0.0;
        const double right = i < n - 1 ? 1.0 / (knots[i + 1] - knots[i]) : 0.0;
        const int is_fixed = at_rest && (i == 0 || i == n - 1);
        const double below = is_fixed ? 0.0 : left, above = is_fixed ? 0.0 : right;
        const double pivot = (is_fixed ? 1.0 : 2.0 * (left + right)) - (i > 0 ? below * work[i - 1] : 0.0);
        work[i] = above / pivot;
        for (int j = 0; j < m; j++) {
            const double* y = values + i * m + j;
            double sum = 0.0;
            if (!is_fixed && i > 0) sum += 3.0 * left * left * (y[0] - y[-m]) - below * slopes[(i - 1) * m + j];
            if (!is_fixed && i < n - 1) sum += 3.0 * right * right * (y[m] - y[0]);
            slopes[i * m + j] = sum / pivot;
        }
    }
    for (int i = n - 2; i >= 0; i--)
        for (int j = 0; j < m; j++) slopes[i * m + j] -= work[i] * slopes[(i + 1) * m + j];
}

/* Evaluates such splines, or a derivative of order 1 or 2, at places (k,) in ascending order; `result` is (k, m). */
EXPORT void timing_evaluate(int32_t n, int32_t m, const double* knots, const double* values, const double* slopes,
                            int32_t k, const double* places, int32_t order, double* result) {
    int i = 0;
    for (int p = 0; p < k; p++) {
        while (i < n - 2 && places[p] >= knots[i + 1]) i++;
        const double h = knots[i + 1] - knots[i], t = places[p] - knots[i];
        for (int j = 0; j < m; j++) {
            const double y = values[i * m + j], d = slopes[i * m + j], end = slopes[(i + 1) * m + j];
            const double rise = (values[(i + 1) * m + j] - y) / h;
            const double cubic = (d + end - 2.0 * rise) / (h * h), square = (3.0 * rise - 2.0 * d - end) / h;
            double* out = result + p * m + j;
            if (order == 0) *out = y + t * (d + t * (square + t * cubic));
            else if (order == 1) *out = d + t * (2.0 * square + t * 3.0 * cubic);
            else *out = 2.0 * square + 6.0 * t * cubic;
        }
    }
}

/* One stage of a path: what limits u and x, the acceleration and the squared speed along it. Each row says
 * |at u + bend x| <= most. */
typedef struct {
    int n;
    double at[2 * MAX_JOINTS], bend[2 * MAX_JOINTS], most[2 * MAX_JOINTS];
    double most_x;
} Stage;

/* The rows of stage i: of its own grid point, and of the next one, where the squared speed is x + 2 step u. */
static void fill_stage(Stage* stage, int i, int m, double step, const double* first, const double* second,
                       const double* velocity, const double* acceleration) {
    stage->n = 0;
    stage->most_x = 1e8;
    for (int j = 0; j < m; j++) {
        const double slope = fabs(first[i * m + j]), speed = velocity[j] / slope;
        if (slope > TINY && speed * speed < stage->most_x) stage->most_x = speed * speed;
        for (int next = 0; next < 2; next++) {
            const double a = first[(i + next) * m + j], b = second[(i + next) * m + j];
            stage->at[stage->n] = next ? a + 2.0 * step * b : a;
            stage->bend[stage->n] = b;
            stage->most[stage->n++] = acceleration[j];
        }
    }
}

/* Finds the largest squared speed of a stage from which some u keeps all its rows and leads to a squared speed in
 * [0, next]. Each row bounds u from both sides; every two of these bounds limit x. 0 is always possible, with u = 0. */
static double find_most_x(const Stage* stage, double step, double next) {
    double high = stage->most_x, rise[2 * MAX_JOINTS + 1], least[2 * MAX_JOINTS + 1], most[2 * MAX_JOINTS + 1];
    int n = 0;
    for (int r = 0; r < stage->n; r++) { /* least - rise x <= u <= most - rise x */
        const double a = stage->at[r], b = stage->bend[r];
        if (fabs(a) < TINY) {
            if (fabs(b) > TINY) high = fmin(high, stage->most[r] / fabs(b));
            continue;
        }
        rise[n] = b / a;
        most[n] = stage->most[r] / fabs(a);
        least[n] = -most[n];
        n++;
    }
    rise[n] = 0.5 / step;
    most[n] = 0.5 * next / step;
    least[n++] = 0.0;
    for (int upper = 0; upper < n; upper++)
        for (int lower = 0; lower < n; lower++) {
            const double slope = rise[upper] - rise[lower];
            if (slope > TINY) high = fmin(high, (most[upper] - least[lower]) / slope);
        }
    return fmax(high, 0.0);
}

/* Finds the fastest squared speeds x (n,) from rest to rest along a path, at n grid points, from its first and second
 * derivatives (n, m) there; `limits` is (2, m): velocities and accelerations. Returns 1 if there are too many joints.
 *
 * From the last grid point backwards, it finds the largest squared speed from which the path can still be followed;
 * then it takes the largest acceleration that stays below. */
EXPORT int32_t timing_speeds(int32_t n, int32_t m, const double* grid, const double* first, const double* second,
                             const double* limits, double* x) {
    Stage stage;
    if (m > MAX_JOINTS) return 1;
    x[n - 1] = 0.0;
    for (int i = n - 2; i >= 0; i--) {
        const double step = grid[i + 1] - grid[i];
        fill_stage(&stage, i, m, step, first, second, limits, limits + m);
        x[i] = find_most_x(&stage, step, x[i + 1]);
    }
    x[0] = 0.0;
    for (int i = 0; i < n - 1; i++) {
        const double step = grid[i + 1] - grid[i];
        double u = 0.5 * (x[i + 1] - x[i]) / step;
        fill_stage(&stage, i, m, step, first, second, limits, limits + m);
        for (int r = 0; r < stage.n; r++) {
            const double a = stage.at[r];
            if (fabs(a) >= TINY) u = fmin(u, stage.most[r] / fabs(a) - stage.bend[r] / a * x[i]);
        }
        x[i + 1] = fmax(0.0, fmin(x[i + 1], x[i] + 2.0 * step * u));
    }
    return 0;
}
