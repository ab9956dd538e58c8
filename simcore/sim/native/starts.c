/* Scores a table of configurations of an arm by constraints of its tool pose, and picks promising ones that are apart.
 * Arrays are row-major. */
#include <math.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define ROW_SIZE 10 /* numbers of a row: its kind, x (3,), target (3,), two bounds, weight */

enum { POINT, CONE_WITHIN, CONE_BEYOND, ANGLE, PLANE };

/* Violation of a row at a tool pose, squared; x is a point or an axis of the tool. */
static double square_misfit(const double* row, const double* R, const double* p) {
    const double *x = row + 1, *target = row + 4, low = row[7], high = row[8];
    double v[3], along = 0.0, square = 0.0, out;
    for (int i = 0; i < 3; i++) {
        v[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
        along += v[i] * target[i];
    }
    switch ((int)row[0]) {
        case POINT:
            for (int i = 0; i < 3; i++) square += (v[i] + p[i] - target[i]) * (v[i] + p[i] - target[i]);
            return square;
        case CONE_WITHIN: return 2.0 * fmax(0.0, low - along); /* 1 - cos is about half the square of the angle */
        case CONE_BEYOND: return 2.0 * fmax(0.0, along - high);
        case ANGLE: out = fmax(0.0, fmax(low - along, along - high)); return out * out;
        default: out = along + p[0] * target[0] + p[1] * target[1] + p[2] * target[2] - low; return out * out;
    }
}

/* Adds to the scores (size,) of configurations q (size, n), with tool rotations R (size, 3, 3) and positions p
 * (size, 3), the weighted misfits of rows (n_rows, ROW_SIZE) and the squares of the distance from a reference (n,). */
EXPORT void starts_score(int32_t size, int32_t n, const double* q, const double* R, const double* p, int32_t n_rows,
                         const double* rows, const double* reference, const double* weights, double* scores) {
    for (int k = 0; k < size; k++) {
        for (int row = 0; row < n_rows; row++)
            scores[k] += rows[ROW_SIZE * (row + 1) - 1] * square_misfit(rows + ROW_SIZE * row, R + 9 * k, p + 3 * k);
        for (int i = 0; i < n; i++) {
            double away = q[k * n + i] - reference[i];
            scores[k] += weights[i] * (away * away);
        }
    }
}

/* Whether a configuration is worse than another one; a score that is no number is the worst. */
static int is_worse(const double* scores, int a, int b) {
    double first = isnan(scores[a]) ? INFINITY : scores[a], second = isnan(scores[b]) ? INFINITY : scores[b];
    return first > second || (first == second && a > b);
}

/* Moves the first entry of a heap down to its place; the worst of the heap comes first. */
static void sift_down(const double* scores, int32_t* heap, int n) {
    for (int at = 0, below = 1, entry = heap[0]; below < n; at = below, below = 2 * at + 1) {
        below += below + 1 < n && is_worse(scores, heap[below + 1], heap[below]);
        if (!is_worse(scores, heap[below], entry)) return;
        heap[at] = heap[below], heap[below] = entry;
    }
}

/* Picks at most `count` of the `most` configurations of lowest score, best first, of which any two are at least
 * `spacing` apart. `pool` has room for `most`. Returns how many it picked. */
EXPORT int starts_pick(int32_t size, int32_t n, const double* q, const double* scores, int32_t most, double spacing,
                       int32_t count, int32_t* pool, int32_t* picked) {
    int n_picked = 0;
    if (most < 1) return 0;
    for (int k = 0, kept = 0; k < size; k++) {
        if (kept < most) { /* the heap grows at its end */
            int at = kept++;
            for (; at > 0 && is_worse(scores, k, pool[(at - 1) / 2]); at = (at - 1) / 2) pool[at] = pool[(at - 1) / 2];
            pool[at] = k;
        } else if (is_worse(scores, pool[0], k)) {
            pool[0] = k;
            sift_down(scores, pool, most);
        }
    }
    for (int end = most - 1; end > 0; end--) { /* the best comes first in the end */
        int32_t worst = pool[0];
        pool[0] = pool[end], pool[end] = worst;
        sift_down(scores, pool, end);
    }
    for (int k = 0; k < most && n_picked < count; k++) {
        const double* own = q + n * pool[k];
        int is_apart = 1;
        for (int other = 0; other < n_picked && is_apart; other++) {
            double square = 0.0;
            for (int i = 0; i < n; i++) {
                double away = own[i] - q[n * picked[other] + i];
                square += away * away;
            }
            is_apart = square >= spacing * spacing;
        }
        if (is_apart) picked[n_picked++] = pool[k];
    }
    return n_picked;
}
