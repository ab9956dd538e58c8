/* The software renderer: triangles, textures, light of a sun and of the surroundings, shadows, darkened corners.
 *
 * A picture is made in three steps. Triangles are drawn into a grid of samples, which keeps the nearest one. Each side
 * of a thing that a pixel shows becomes a facet, which is lit. Facets are put together with the shadows of this moment.
 * What stands still is drawn and lit once a camera. Every value follows from the scene alone, to the bit, whether it is
 * kept or not: the nearest triangle counts in any order of drawing, and sums have a fixed order. */
#pragma GCC optimize("O3") /* unrolled loops over three axes; it changes no value */
#include "raster.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define EXPORT __attribute__((visibility("default")))

static const float PI = 3.14159265f;

EXPORT void raster_sizes(int32_t* sizes) {
    const int32_t found[] = {sizeof(Texture), sizeof(Shape), sizeof(Scene),  sizeof(ShadowMap), sizeof(Facet),
                             sizeof(View),    SKY_SIDE,      LINEAR_STEPS, MAX_FACETS};
    memcpy(sizes, found, sizeof found);
}

static inline float least(float a, float b) { return a < b ? a : b; }
static inline float most(float a, float b) { return a > b ? a : b; }
static inline int clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }
static inline float dot(const float* a, const float* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline int floor_of(double x) {
    int whole = (int)x;
    return whole - (x < whole);
}
static inline int ceiling_of(double x) {
    int whole = (int)x;
    return whole + (x > whole);
}

/* Four numbers that are computed at once; the same values as one by one. */
typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourWhole __attribute__((vector_size(16)));
typedef int32_t FourWholeInMemory __attribute__((vector_size(16), aligned(4), may_alias));
typedef float FourInMemory __attribute__((vector_size(16), aligned(4), may_alias));

static inline Four load(const float* from) { return *(const FourInMemory*)from; }
static inline Four load3(const float* from) { return (Four){from[0], from[1], from[2], 0.0f}; }
static inline void store(float* to, Four values) { *(FourInMemory*)to = values; }
static inline Four four(float value) { return (Four){value, value, value, value}; }
static inline Four chosen_of(FourWhole condition, Four values) { return (Four)(condition & (FourWhole)values); }
static inline Four either_of(FourWhole condition, Four a, Four b) {
    return (Four)((condition & (FourWhole)a) | (~condition & (FourWhole)b));
}
#ifdef __SSE2__ /* one instruction each, which compilers do not find */
static inline Four least_of(Four a, Four b) { return (Four)_mm_min_ps((__m128)a, (__m128)b); }
static inline Four most_of(Four a, Four b) { return (Four)_mm_max_ps((__m128)a, (__m128)b); }
static inline Four root_of(Four v) { return (Four)_mm_sqrt_ps((__m128)v); }
#else
static inline Four least_of(Four a, Four b) { return either_of(a < b, a, b); }
static inline Four most_of(Four a, Four b) { return either_of(a > b, a, b); }
static inline Four root_of(Four v) { return (Four){sqrtf(v[0]), sqrtf(v[1]), sqrtf(v[2]), sqrtf(v[3])}; }
#endif
static inline FourWhole clamp_of(FourWhole values, int high) {
    values &= values > 0;
    return (values & (values < high)) | (high & ~(values < high));
}
static inline float dot3(Four a, Four b) {
    const Four product = a * b;
    return product[0] + product[1] + product[2];
}

/* 2 to the power of x, for x from -126 to 0, to 0.0002. */
static inline float power_of_two(float x) {
    const int whole = (int)x - 1;
    const float rest = x - whole;
    union {
        int32_t bits;
        float value;
    } power = {(whole + 127) << 23};
    return power.value * (1.0f + rest * (0.6960656f + rest * (0.2244943f + rest * 0.0794400f)));
}

static inline void normalize(float* v) {
    const float scale = 1.0f / sqrtf(most(dot(v, v), 1e-30f));
    for (int i = 0; i < 3; i++) v[i] *= scale;
}

/* T = A B of poses with three rows each. */
static void compose(const double* A, const double* B, double* T) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            T[4 * i + j] = A[4 * i] * B[j] + A[4 * i + 1] * B[4 + j] + A[4 * i + 2] * B[8 + j] + (j == 3 ? A[4 * i + 3] : 0);
}

static inline void transform(const float* T, const float* p, float* moved) {
    const float x = p[0], y = p[1], z = p[2];
    moved[0] = T[0] * x + T[1] * y + T[2] * z + T[3];
    moved[1] = T[4] * x + T[5] * y + T[6] * z + T[7];
    moved[2] = T[8] * x + T[9] * y + T[10] * z + T[11];
}

static void rotate(const double* T, const float* v, float* turned) {
    for (int i = 0; i < 3; i++) turned[i] = (float)(T[4 * i] * v[0] + T[4 * i + 1] * v[1] + T[4 * i + 2] * v[2]);
}

/* ---- triangles ---- */

#define CHUNK 32 /* samples of a row that are left out together where all are nearer than a triangle */

/* A grid of samples. Sample i is at (i / per_pixel + first) of the picture, whose pixel centres are whole numbers. */
typedef struct {
    int width, height;
    double per_pixel, first;
    float* near;   /* larger is nearer */
    int32_t* face; /* NULL: not wanted */
    Rect drawn;    /* samples that triangles may have changed */
    float* corners; /* projected corners of the present shape */
    float* least;   /* a lower bound of `near` for each chunk of each row; NULL: there is none */
} Grid;

static int chunks_along(int width) { return (width + CHUNK - 1) / CHUNK; }

static void include(Rect* rect, int left, int top, int right, int bottom) {
    if (rect->right <= rect->left) {
        *rect = (Rect){left, top, right, bottom};
        return;
    }
    if (left < rect->left) rect->left = left;
    if (top < rect->top) rect->top = top;
    if (right > rect->right) rect->right = right;
    if (bottom > rect->bottom) rect->bottom = bottom;
}

static inline void set_nearest(Grid* grid, int i, int j, float value, int32_t face) {
    const size_t sample = (size_t)j * grid->width + i;
    if (value < grid->near[sample]) return;
    if (grid->face && (value > grid->near[sample] || face < grid->face[sample])) grid->face[sample] = face;
    grid->near[sample] = value; /* of two at one distance, the first counts */
}

static const Four COUNT = {0.0f, 1.0f, 2.0f, 3.0f};

/* Draws n samples of a row, whose nearness is start + along i. */
static void draw_span(float* near, int32_t* faces, float start, float along, int n, int32_t face) {
    int i = 0;
    Four count = COUNT;
    for (; i + 3 < n; i += 4, count += 4.0f) {
        const Four value = start + along * count, before = load(near + i);
        const FourWhole other = *(const FourWholeInMemory*)(faces + i);
        const FourWhole nearer = (value > before) | ((value == before) & (face < other));
        store(near + i, either_of(nearer, value, before));
        *(FourWholeInMemory*)(faces + i) = (nearer & face) | (~nearer & other);
    }
    for (; i < n; i++) {
        const float value = start + along * (float)i, before = near[i];
        const int32_t other = faces[i];
        const int32_t nearer = (value > before) | ((value == before) & (face < other));
        near[i] = nearer ? value : before;
        faces[i] = nearer ? face : other;
    }
}

/* As draw_span, for distances alone. */
static void draw_distances(float* near, float start, float along, int n) {
    for (int i = 0; i < n; i++) near[i] = most(start + along * (float)i, near[i]);
}

/* Whether all samples of a row from `low` to `high` are nearer than start + along i. */
static int is_hidden(const float* least_near, double start, double along, int low, int high) {
    const float nearest = 1.000001f * most((float)(start + along * low), (float)(start + along * high)); /* rounded up */
    for (int chunk = low / CHUNK; chunk <= high / CHUNK; chunk++)
        if (nearest >= least_near[chunk]) return 0;
    return 1;
}

/* Draws a triangle over a block of samples, from i0, j0 to i1, j1. `e` is the edge from each corner to
 * the next one, turned so that the area is positive. */
static void draw_large(Grid* grid, const float* const* corners, double area, const double (*e)[2], const int* block,
                       int32_t face) {
    const double scale = grid->per_pixel, first = grid->first, step = 1.0 / scale;
    const float *a = corners[0], *b = corners[1], *c = corners[2];
    const double ab = ((double)b[2] - a[2]) / area, ac = ((double)a[2] - c[2]) / area;
    const double along_x = ac * e[0][1] - ab * e[2][1], along_y = ab * e[2][0] - ac * e[0][0];
    double inverse[3];
    for (int k = 0; k < 3; k++) inverse[k] = e[k][1] != 0.0 ? 1.0 / e[k][1] : 0.0;
    for (int j = block[1]; j <= block[3]; j++) {
        const double y = j * step + first;
        const double start = a[2] + along_y * (y - a[1]) + along_x * (first - a[0]), along = along_x * step;
        float* least_near = grid->least ? grid->least + (size_t)j * chunks_along(grid->width) : NULL;
        if (least_near && is_hidden(least_near, start, along, block[0], block[2])) continue;
        double row[3], slope[3], low = block[0], high = block[2];
        for (int k = 0; k < 3; k++) { /* inside where row - slope (x - corner) is not negative */
            row[k] = e[k][0] * (y - corners[k][1]), slope[k] = e[k][1];
            const double at = (corners[k][0] + row[k] * inverse[k] - first) * scale;
            if (slope[k] > 0.0 && at < high) high = at;
            if (slope[k] < 0.0 && at > low) low = at;
        }
        if (low > high + 2.0) continue;
#define INSIDE(x)                                                                                    \
    (row[0] - slope[0] * ((x)-a[0]) >= 0.0 && row[1] - slope[1] * ((x)-b[0]) >= 0.0 && \
     row[2] - slope[2] * ((x)-c[0]) >= 0.0)
        /* the ends are exact to far less than this, and are checked */
        int from = clamp(ceiling_of(low - 1e-4), block[0], block[2]), to = clamp(floor_of(high + 1e-4), block[0], block[2]);
        while (from <= to && !INSIDE(from * step + first)) from++;
        while (to >= from && !INSIDE(to * step + first)) to--;
#undef INSIDE
        float* near = grid->near + (size_t)j * grid->width;
        if (!grid->face) {
            draw_distances(near + from, (float)(start + along * from), (float)along, to - from + 1);
            continue;
        }
        int32_t* faces = grid->face + (size_t)j * grid->width;
        for (int chunk = from / CHUNK; chunk <= to / CHUNK && from <= to; chunk++) {
            const int low_i = clamp(chunk * CHUNK, from, to), high_i = clamp(chunk * CHUNK + CHUNK - 1, from, to);
            const float value_low = (float)(start + along * low_i);
            const float value_high = value_low + (float)along * (float)(high_i - low_i);
            if (most(value_low, value_high) < least_near[chunk]) continue;
            draw_span(near + low_i, faces + low_i, value_low, (float)along, high_i - low_i + 1, face);
            if (high_i - low_i == CHUNK - 1) least_near[chunk] = most(least_near[chunk], least(value_low, value_high));
        }
    }
}

/* Draws a triangle of projected corners (x, y, nearness, and a number that is not used), which is linear in the picture.
 * The products of the edge functions are exact, so that neighbours leave no gap. */
static inline void draw_triangle(Grid* grid, const float* a, const float* b, const float* c, int32_t face) {
    const float scale = (float)grid->per_pixel, first = (float)grid->first;
    const Four last = {(float)(grid->width - 1), (float)(grid->height - 1), 0.0f, 0.0f};
    const Four p = load(a), q = load(b), r = load(c);
    const Four low = (least_of(least_of(p, q), r) - first) * scale, high = (most_of(most_of(p, q), r) - first) * scale;
    const FourWhole is_seen = (high >= 0.0f) & (low <= last);
    const Four lower = most_of(low, four(0.0f));
    FourWhole from = __builtin_convertvector(lower, FourWhole), to = __builtin_convertvector(least_of(high, last), FourWhole);
    from -= __builtin_convertvector(from, Four) < lower; /* rounded up: what is true is -1 */
    const FourWhole is_drawn = is_seen & (from <= to);
    if (!(is_drawn[0] & is_drawn[1])) return;
    const int block[4] = {from[0], from[1], to[0], to[1]};
    const double ax = a[0], ay = a[1], bx = b[0], by = b[1], cx = c[0], cy = c[1];
    double e[3][2] = {{bx - ax, by - ay}, {cx - bx, cy - by}, {ax - cx, ay - cy}};
    double area = e[0][1] * e[2][0] - e[0][0] * e[2][1];
    if (area == 0.0) return;
    const double turn = area < 0.0 ? -1.0 : 1.0, step = 1.0 / grid->per_pixel;
    area *= turn;
    for (int k = 0; k < 3; k++) e[k][0] *= turn, e[k][1] *= turn;
    include(&grid->drawn, block[0], block[1], block[2] + 1, block[3] + 1);
    if (block[2] - block[0] > 7) {
        draw_large(grid, (const float* const[3]){a, b, c}, area, (const double(*)[2])e, block, face);
        return;
    }
    const double x = block[0] * step + first;
    for (int j = block[1]; j <= block[3]; j++) {
        const double y = j * step + first;
        double ab = e[0][0] * (y - ay) - e[0][1] * (x - ax), bc = e[1][0] * (y - by) - e[1][1] * (x - bx);
        double ca = e[2][0] * (y - cy) - e[2][1] * (x - cx);
        for (int i = block[0]; i <= block[2]; i++) {
            if (!((ab < 0.0) | (bc < 0.0) | (ca < 0.0)))
                set_nearest(grid, i, j, (float)((bc * a[2] + ca * b[2] + ab * c[2]) / area), face);
            ab -= e[0][1] * step, bc -= e[1][1] * step, ca -= e[2][1] * step;
        }
    }
}

/* Returns memory for the projected corners of any shape; NULL: there is none. */
static float* make_corners(const Scene* scene) {
    int n = 1;
    for (int s = 0; s < scene->n_shapes; s++) {
        if (scene->shapes[s].n_vertices > n) n = scene->shapes[s].n_vertices;
        if (scene->shapes[s].n_shadow_vertices > n) n = scene->shapes[s].n_shadow_vertices;
    }
    return malloc((3 * (size_t)n + 1) * sizeof(float)); /* three are written as four */
}

static void to_single(const double* T, float* single) {
    for (int i = 0; i < 12; i++) single[i] = (float)T[i];
}

static inline void project(const View* view, const float* p, float* at) {
    const float inverse = 1.0f / p[2];
    at[0] = p[0] * inverse * (float)view->fx + (float)view->cx;
    at[1] = p[1] * inverse * (float)view->fy + (float)view->cy;
    at[2] = inverse;
}

/* Draws the part of a triangle (camera frame) that is in front of the near plane. */
static void draw_cut(Grid* grid, const View* view, const float corners[3][3], int32_t face) {
    float kept[5][3]; /* one more than there are: four numbers are read of each */
    int n = 0;
    const float near = (float)view->near;
    for (int e = 0; e < 3; e++) {
        const float *p = corners[e], *q = corners[(e + 1) % 3];
        if (p[2] >= near) project(view, p, kept[n++]);
        if ((p[2] >= near) != (q[2] >= near)) {
            const float *in = p[2] >= near ? p : q, *out = p[2] >= near ? q : p; /* alike for both neighbours */
            const float share = (near - in[2]) / (out[2] - in[2]);
            const float met[3] = {in[0] + share * (out[0] - in[0]), in[1] + share * (out[1] - in[1]), near};
            project(view, met, kept[n++]);
        }
    }
    for (int i = 2; i < n; i++) draw_triangle(grid, kept[0], kept[i - 1], kept[i], face);
}

/* Whether the box around a shape is outside of what the camera sees. */
static int is_outside(const View* view, const float* T, const Shape* shape) {
    const float left = (float)(view->cx + 0.5), right = (float)(view->width - 0.5 - view->cx);
    const float top = (float)(view->cy + 0.5), bottom = (float)(view->height - 0.5 - view->cy);
    int outside = 63; /* of the six sides, those that all corners are beyond */
    for (int corner = 0; corner < 8 && outside; corner++) {
        float p[3], at[3];
        for (int i = 0; i < 3; i++) p[i] = corner >> i & 1 ? shape->high[i] : shape->low[i];
        transform(T, p, at);
        const float x = (float)view->fx * at[0], y = (float)view->fy * at[1], z = at[2];
        outside &= (z < view->near) | (z > view->far) << 1 | (x + left * z < 0.0f) << 2 | (right * z - x < 0.0f) << 3 |
                   (y + top * z < 0.0f) << 4 | (bottom * z - y < 0.0f) << 5;
    }
    return outside;
}

#ifdef __SSE2__
/* As transform: three sums at once, of the columns of T. */
static inline __m128 transform_at_once(const __m128* columns, const float* p) {
    const __m128 x = _mm_mul_ps(columns[0], _mm_set1_ps(p[0])), y = _mm_mul_ps(columns[1], _mm_set1_ps(p[1]));
    return _mm_add_ps(_mm_add_ps(_mm_add_ps(x, y), _mm_mul_ps(columns[2], _mm_set1_ps(p[2]))), columns[3]);
}

static inline void columns_of(const float* T, __m128* columns) {
    for (int k = 0; k < 4; k++) columns[k] = _mm_set_ps(0.0f, T[8 + k], T[4 + k], T[k]);
}
#endif

/* Moves n points. There must be room for one number more. */
static void transform_all(const float* T, const float* points, int n, float* moved) {
#ifdef __SSE2__
    __m128 columns[4];
    columns_of(T, columns);
    for (int v = 0; v < n; v++) _mm_storeu_ps(moved + 3 * v, transform_at_once(columns, points + 3 * v));
#else
    for (int v = 0; v < n; v++) transform(T, points + 3 * v, moved + 3 * v);
#endif
}

/* Moves n points into the frame of the camera and projects them; the nearness is 0 of those before the near plane.
 * There must be room for one number more. */
static void project_all(const View* view, const float* T, const float* points, int n, float* projected) {
    const float near = (float)view->near;
#ifdef __SSE2__
    const __m128 focal = _mm_set_ps(0.0f, 0.0f, (float)view->fy, (float)view->fx);
    const __m128 centre = _mm_set_ps(0.0f, 0.0f, (float)view->cy, (float)view->cx), one = _mm_set1_ps(1.0f);
    __m128 columns[4];
    columns_of(T, columns);
    for (int v = 0; v < n; v++) {
        const __m128 p = transform_at_once(columns, points + 3 * v), z = _mm_shuffle_ps(p, p, _MM_SHUFFLE(2, 2, 2, 2));
        const __m128 inverse = _mm_div_ps(one, z);
        const __m128 at = _mm_add_ps(_mm_mul_ps(_mm_mul_ps(p, inverse), focal), centre);
        _mm_storeu_ps(projected + 3 * v, _mm_shuffle_ps(at, inverse, _MM_SHUFFLE(0, 0, 1, 0)));
        if (!(_mm_cvtss_f32(z) >= near)) projected[3 * v + 2] = 0.0f;
    }
#else
    for (int v = 0; v < n; v++) {
        float p[3];
        transform(T, points + 3 * v, p);
        if (p[2] >= near)
            project(view, p, projected + 3 * v);
        else
            projected[3 * v + 2] = 0.0f;
    }
#endif
}

static void draw_shape(Grid* grid, const View* view, const float* T, const Shape* shape) {
    float* projected = grid->corners;
    if (is_outside(view, T, shape)) return;
    project_all(view, T, shape->vertices, shape->n_vertices, projected);
    for (int f = 0; f < shape->n_faces; f++) {
        const int32_t* corners = shape->faces + 3 * f;
        const float *a = projected + 3 * corners[0], *b = projected + 3 * corners[1], *c = projected + 3 * corners[2];
        if (shape->is_sheet) {
            const float* normal = shape->face_normals + 3 * f;
            float p[3], n[3];
            transform(T, shape->vertices + 3 * corners[0], p);
            for (int i = 0; i < 3; i++) n[i] = dot(T + 4 * i, normal);
            if (dot(n, p) >= 0.0f) continue;
        }
        if (a[2] > 0.0f && b[2] > 0.0f && c[2] > 0.0f) {
            draw_triangle(grid, a, b, c, shape->first_face + f);
        } else if (a[2] > 0.0f || b[2] > 0.0f || c[2] > 0.0f) {
            float cut[3][3];
            for (int i = 0; i < 3; i++) transform(T, shape->vertices + 3 * corners[i], cut[i]);
            draw_cut(grid, view, (const float(*)[3])cut, shape->first_face + f);
        }
    }
}

/* ---- shadow map ---- */

enum { STANDS = 1, MOVES = 2, STAYS = 4 };

static int chosen(const Shape* shape, int which) {
    if (which == STAYS) return shape->stays;
    return shape->moves ? which & MOVES : which & STANDS;
}

static int draw_shadows(const Scene* scene, const ShadowMap* map, int which, float* distances, Rect* changed) {
    Grid grid = {map->side, map->side, 1.0, 0.0, distances, NULL, {0, 0, 0, 0}, make_corners(scene), NULL};
    if (!grid.corners) return 0;
    double T_light_world[12];
    for (int i = 0; i < 3; i++) {
        const double *axis = map->R + 3 * i, *m = map->middle, shift = -(axis[0] * m[0] + axis[1] * m[1] + axis[2] * m[2]);
        const double scale = i < 2 ? 1.0 / map->texel_m : 1.0;
        for (int j = 0; j < 3; j++) T_light_world[4 * i + j] = scale * axis[j];
        T_light_world[4 * i + 3] = scale * shift + (i < 2 ? 0.5 * (map->side - 1) : 0.0);
    }
    for (int s = 0; s < scene->n_shapes; s++) {
        const Shape* shape = scene->shapes + s;
        double T_light_link[12];
        float T[12];
        if (!chosen(shape, which) || !shape->n_shadow_faces) continue;
        compose(T_light_world, scene->poses + 12 * shape->link, T_light_link);
        to_single(T_light_link, T);
        float* projected = grid.corners;
        transform_all(T, shape->shadow_vertices, shape->n_shadow_vertices, projected);
        for (int f = 0; f < shape->n_shadow_faces; f++) {
            const int32_t* corners = shape->shadow_faces + 3 * f;
            draw_triangle(&grid, projected + 3 * corners[0], projected + 3 * corners[1], projected + 3 * corners[2], 0);
        }
    }
    free(grid.corners);
    *changed = grid.drawn;
    return 1;
}

static void copy_rows(void* to, const void* from, Rect rect, int width, size_t size) {
    for (int row = rect.top; row < rect.bottom && rect.left < rect.right; row++) {
        const size_t at = ((size_t)row * width + rect.left) * size;
        memcpy((char*)to + at, (const char*)from + at, (rect.right - rect.left) * size);
    }
}

/* Draws the shadows of all that stands still. Returns 0 where memory is missing, as the others below do. */
EXPORT int raster_keep_shadows(const Scene* scene, ShadowMap* map) {
    const size_t n = (size_t)map->side * map->side;
    Rect all;
    ShadowMap wide = *map;
    wide.texel_m *= WIDE;
    for (size_t i = 0; i < n; i++) map->kept[i] = map->wide[i] = -1e30f;
    if (scene->has_shadow && !draw_shadows(scene, map, STANDS, map->kept, &all)) return 0;
    if (scene->has_shadow && !draw_shadows(scene, &wide, STAYS, map->wide, &all)) return 0;
    memcpy(map->now, map->kept, n * sizeof *map->now);
    map->changed = (Rect){0, 0, 0, 0};
    return 1;
}

/* Draws the shadows of what moves over those that are kept. */
EXPORT int raster_draw_shadows(const Scene* scene, ShadowMap* map) {
    copy_rows(map->now, map->kept, map->changed, map->side, sizeof *map->now);
    map->changed = (Rect){0, 0, 0, 0};
    return !scene->has_shadow || draw_shadows(scene, map, MOVES, map->now, &map->changed);
}

static const float BIAS_M = 0.0015f;       /* shapes have fewer triangles in the shadow map */
static const float SLOPE_BIAS = 0.6f;      /* share of the change of distance within a texel */
static const float STEEPEST = 5.0f;        /* largest change of distance that is followed, in texels a texel */

/* Returns the share of sun that reaches a facet: the mean over a square of 3 x 3 texels around it. */
static float sun_share(const ShadowMap* map, const Facet* facet) {
    const float last = (float)map->side - 4.0f, middle = 0.5f * (map->side - 1);
    float x = facet->place[0] - 1.0f, y = facet->place[1] - 1.0f, across_columns = facet->right, across_rows = facet->down;
    const float* distances = map->now;
    if (!(x >= 0.0f && y >= 0.0f && x < last && y < last)) {
        x = (facet->place[0] - middle) / WIDE + middle - 1.0f, y = (facet->place[1] - middle) / WIDE + middle - 1.0f;
        if (!(x >= 0.0f && y >= 0.0f && x < last && y < last)) return 1.0f;
        across_columns *= WIDE, across_rows *= WIDE, distances = map->wide;
    }
    const int i0 = (int)x, j0 = (int)y;
    const float right = x - i0, down = y - j0;
    float start = facet->place[2] + BIAS_M + SLOPE_BIAS * (fabsf(across_columns) + fabsf(across_rows));
    start -= across_columns * (1.0f + right) + across_rows * (1.0f + down);
    const float* row = distances + (size_t)j0 * map->side + i0;
    const Four weights = {1.0f - right, 1.0f, 1.0f, right};
    Four limit = start + across_columns * (Four){0.0f, 1.0f, 2.0f, 3.0f}, lit = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int j = 0; j < 4; j++, limit += across_rows, row += map->side) {
        const float below = j == 0 ? 1.0f - down : j == 3 ? down : 1.0f;
        lit += chosen_of(load(row) <= limit, below * weights);
    }
    return (lit[0] + lit[1] + lit[2] + lit[3]) * (1.0f / 9.0f);
}

/* ---- light ---- */

/* Returns the light of a map of the surroundings from a direction of any length, world frame. */
static inline Four look_up_sky(const float* map, Four direction) {
    const float inverse = 1.0f / (fabsf(direction[0]) + fabsf(direction[1]) + fabsf(direction[2]));
    float u = direction[0] * inverse, v = direction[1] * inverse;
    if (direction[2] < 0.0f) {
        const float folded = (1.0f - fabsf(v)) * (u < 0.0f ? -1.0f : 1.0f);
        v = (1.0f - fabsf(u)) * (v < 0.0f ? -1.0f : 1.0f);
        u = folded;
    }
    const float x = (0.5f * u + 0.5f) * (SKY_SIDE - 1), y = (0.5f * v + 0.5f) * (SKY_SIDE - 1);
    const int i = clamp((int)x, 0, SKY_SIDE - 2), j = clamp((int)y, 0, SKY_SIDE - 2);
    const float right = x - i, down = y - j;
    const float *upper = map + 3 * (j * SKY_SIDE + i), *lower = upper + 3 * SKY_SIDE;
    const Four a = load(upper), b = load(upper + 3), c = load(lower), d = load(lower + 3); /* the fourth is not used */
    const Four above = a + right * (b - a), below = c + right * (d - c);
    return above + down * (below - above);
}

/* Returns the linear colour of a texture at (u, v), where a pixel covers a length in units of the picture's side. */
static Four look_up_texture(const Scene* scene, const Texture* texture, float at_u, float at_v, float covered) {
    int width = texture->width, height = texture->height, level = 0;
    const uint8_t* texels = texture->texels;
    float wide = covered * (width > height ? width : height);
    for (; level < texture->n_levels - 1 && wide > 1.41421356f; level++, wide *= 0.5f) {
        texels += 3 * (size_t)width * height;
        width = width > 1 ? width / 2 : 1, height = height > 1 ? height / 2 : 1;
    }
    const float u = at_u - floor_of(at_u), v = 1.0f - (at_v - floor_of(at_v));
    const float x = u * width - 0.5f, y = v * height - 0.5f;
    const int i = floor_of(x), j = floor_of(y);
    const float right = x - i, down = y - j;
    const int left_i = i < 0 ? i + width : i, right_i = i + 1 < width ? i + 1 : 0; /* it repeats */
    const int upper_j = j < 0 ? j + height : j, lower_j = j + 1 < height ? j + 1 : 0;
    const float* linear = scene->linear;
    Four corners[4];
    for (int k = 0; k < 4; k++) {
        const uint8_t* texel = texels + 3 * ((size_t)(k & 2 ? lower_j : upper_j) * width + (k & 1 ? right_i : left_i));
        corners[k] = (Four){linear[texel[0]], linear[texel[1]], linear[texel[2]], 0.0f};
    }
    const Four above = corners[0] + right * (corners[1] - corners[0]), below = corners[2] + right * (corners[3] - corners[2]);
    return above + down * (below - above);
}

/* A point of a surface that a camera sees. */
typedef struct {
    float p[3];      /* camera frame [m] */
    Four normal;     /* of the smooth surface, towards the camera, world frame */
    Four view;       /* towards the camera, world frame */
    Four shares;     /* of its corners */
    float facing;    /* cosine between the view and the normal of its triangle */
    float turning;   /* how far the smooth normal turns within a pixel [rad] */
} Point;

static void corners_of(const float* T, const Shape* shape, int face, float corners[3][3]) {
    for (int i = 0; i < 3; i++) transform(T, shape->vertices + 3 * shape->faces[3 * face + i], corners[i]);
}

/* The plane of a triangle, camera frame. */
typedef struct {
    double a[3], e1[3], e2[3]; /* its first corner, and the edges from there */
    double normal[3];          /* as long as twice its area */
    double offset;             /* normal a */
    double squared;            /* of the length of the normal */
} Plane;

static void cross(const double* a, const double* b, double* product) {
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        product[i] = a[j] * b[k] - a[k] * b[j];
    }
}

static Plane plane_of(const float corners[3][3]) {
    Plane plane;
    for (int i = 0; i < 3; i++) {
        plane.a[i] = corners[0][i];
        plane.e1[i] = corners[1][i] - plane.a[i], plane.e2[i] = corners[2][i] - plane.a[i];
    }
    double* n = plane.normal;
    cross(plane.e1, plane.e2, n);
    plane.offset = n[0] * plane.a[0] + n[1] * plane.a[1] + n[2] * plane.a[2];
    plane.squared = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    return plane;
}


/* What lighting needs to know of a triangle at all of its points. */
typedef struct {
    int32_t face;             /* -1: none */
    int32_t is_even;          /* whether its light is computed at the corners of cells, see is_even_inside */
    double normal[3], offset; /* of its plane, as in Plane */
    double rise[2][3], from[2]; /* shares of the second and third corner of a point p: rise p - from */
    Four normals[3];          /* of its corners, world frame */
    Four flat;                /* unit normal towards the camera, world frame */
    float length;             /* of `normal`: twice its area [m^2] */
    float turning;            /* largest change of the smooth normal along an edge [rad/m] */
    float right, down;        /* as of a facet */
    int32_t is_lit;           /* whether it faces the sun */
} Side;

/* Distribution of microfacets by GGX times their visibility by Smith, see Heitz 2014; `a` is the squared roughness. */
static float microfacets(float a, float n_l, float n_v, float n_h) {
    const float a2 = a * a, denominator = n_h * n_h * (a2 - 1.0f) + 1.0f;
    const float visible = n_l * sqrtf(a2 + (1.0f - a2) * n_v * n_v) + n_v * sqrtf(a2 + (1.0f - a2) * n_l * n_l);
    return a2 / (PI * denominator * denominator) * 0.5f / most(visible, 1e-6f);
}

static const float DIELECTRIC = 0.04f; /* reflected light of what is no metal, seen along the normal */
static const float SMOOTHEST = 0.0525f;
/* Half of the angle under which a window or a lamp is seen [rad]: a point would burn a disc into polished stone. */
static const float SUN_WIDTH = 0.25f;
static const float MOST_SPREAD = 0.18f;

/* Returns where a point is in the texture of its shape, and the length that a pixel covers there. */
static Four place_in_texture(const View* view, const Shape* shape, const Side* side, const Point* point) {
    const int32_t* corners = shape->faces + 3 * (side->face - shape->first_face);
    const float *a = shape->uvs + 2 * corners[0], *b = shape->uvs + 2 * corners[1], *c = shape->uvs + 2 * corners[2];
    Four place = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k = 0; k < 2; k++) place[k] = point->shares[0] * a[k] + point->shares[1] * b[k] + point->shares[2] * c[k];
    const float in_picture = fabsf((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    const float distance = sqrtf(dot(point->p, point->p)), facing = most(point->facing, 0.05f);
    place[2] = distance / (float)view->fy * sqrtf(in_picture / (side->length * facing));
    return place;
}

/* Lights a point of a shape that has a colour there. The equations are those of the renderer on graphics cards (pygfx):
 * Lambert, GGX, and the split-sum fit of Karis 2014 with the multiple scattering of Fdez-Aguera 2019 for the
 * surroundings. */
static void light_point(const Scene* scene, const Shape* shape, Four colour, const Point* point, Facet* facet) {
    if (shape->emission > 0.0f || scene->is_even) {
        store(facet->sun, (scene->is_even ? 1.0f : shape->emission) * colour);
        store(facet->sky, four(0.0f));
        facet->place[0] = -1e6f; /* beyond all shadows */
        return;
    }
    const Four n = point->normal;
    const float n_v = least(most(dot3(n, point->view), 1e-4f), 1.0f);
    const float roughness = most(shape->roughness, SMOOTHEST), alpha = roughness * roughness;
    const Four diffuse = (1.0f - shape->metalness) * colour;
    const Four reflected = DIELECTRIC + shape->metalness * (colour - DIELECTRIC);
    Four away = 2.0f * n_v * n - point->view;
    away += alpha * (n - away);
    const Four matt = look_up_sky(scene->irradiance, n), mirrored = look_up_sky(shape->radiance, away);
    const float x = 1.0f - roughness, y = 0.0425f - 0.0275f * roughness;
    const float fading = least(x * x, power_of_two(-9.28f * n_v)) * x + y;
    const float scale = -1.04f * fading + 1.04f - 0.572f * roughness, offset = 1.04f * fading - 0.04f + 0.022f * roughness;
    const float lost = 1.0f - (scale + offset);
    const Four mean = reflected + 0.047619f * (1.0f - reflected), scattered = scale * reflected + offset;
    const Four again = lost * scattered * mean / (1.0f - lost * mean), both = scattered + again;
    const float largest = most(both[0], most(both[1], both[2]));
    store(facet->sky, scene->sky_strength * (mirrored * scattered + matt * (again + (1.0f - largest) * diffuse)));
    const Four sun = {(float)scene->sun[0], (float)scene->sun[1], (float)scene->sun[2], 0.0f};
    const float n_l = dot3(n, sun);
    store(facet->sun, four(0.0f));
    if (n_l <= 0.0f) return;
    Four half = sun + point->view;
    half *= 1.0f / sqrtf(most(dot3(half, half), 1e-30f));
    const float n_h = least(dot3(n, half), 1.0f), v_h = most(dot3(point->view, half), 0.0f);
    /* a rounded edge within a pixel is as matt as its normals differ: else highlights on it are dashes (Kaplanyan et al.
     * 2016, "Filtering distributions of normals for shading antialiasing") */
    const float spread = least(0.5f * point->turning * point->turning, MOST_SPREAD);
    const float seen = most(alpha, SUN_WIDTH), wide = sqrtf(seen * seen + spread);
    const float lobe = scene->sun_gloss * PI * microfacets(wide, n_l, n_v, n_h);
    const float grazing = power_of_two((-5.55473f * v_h - 6.98316f) * v_h);
    store(facet->sun, n_l * load3(scene->sun_colour) * (diffuse + lobe * (reflected + grazing * (1.0f - reflected))));
}

/* ---- pixels ---- */

#define BLOCK 16    /* rows and columns of pixels that are lit anew together */
#define TILE 4      /* rows and columns of pixels that look in different directions */
#define AT_ONCE 64  /* pixels of a row that are put together in turn */
#define N_AROUND 16 /* places that a pixel of a fine picture looks at */
#define FEW_AROUND 8 /* places that every other pixel of other pictures looks at */

#define N_SIDES 512 /* triangles of which it is kept what lighting needs */

#define CELL 4  /* rows and columns of pixels between corners at which flat triangles are lit */
#define N_KNOTS 3 /* triangles that are kept at one corner */

/* How a flat triangle's plane is lit on the ray of a corner of a cell. */
typedef struct {
    int32_t face, row; /* the triangle, and the row of the corner; -1: nothing is kept */
    int32_t is_fit;    /* whether the plane is in front of the camera there */
    float nearness;    /* [1/m] */
    Four normal;       /* as of a point, world frame */
    Four values[6];    /* rows of a facet; with a texture these are of black, and then come the differences of sky and sun to
                          white, and the place in the texture */
} Knot;

typedef struct {
    const Scene* scene;
    const ShadowMap* map;
    View* view;
    int samples_wide;
    double *slopes_right, *slopes_down; /* of rays, by the number of half pixels from the middle of the first one */
    float (*T_camera_link)[12]; /* of each shape */
    const Shape* last;           /* the shape that was looked up last */
    Four camera_axes[3];         /* world frame */
    Four light_axes[3], light_start; /* place in the shadow map of a point, camera frame */
    Side* sides;                 /* N_SIDES triangles */
    Knot* knots;                 /* two rows of corners, N_KNOTS each */
    struct {
        int32_t face, column, row; /* face -1: none */
        int32_t is_fit;            /* whether light can be mixed in it */
        Four nearness;             /* of the knots [1/m] */
        const Knot* knots[4];
    } cell; /* where light was mixed last */
    Four turns[TILE * TILE][2][N_AROUND / 4]; /* places to look at: shares of the reach along columns and rows */
} Drawing;

static const Shape* shape_of(Drawing* drawing, int32_t face) {
    const Shape *shapes = drawing->scene->shapes, *last = drawing->last;
    if (last && face >= last->first_face && face < last->first_face + last->n_faces) return last;
    int low = 0, high = drawing->scene->n_shapes - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (shapes[middle].first_face <= face)
            low = middle;
        else
            high = middle - 1;
    }
    return drawing->last = shapes + low;
}

static int is_even_inside(const Drawing* drawing, const Shape* shape, int32_t face);

/* Returns what lighting needs to know of a triangle. */
static const Side* find_side(Drawing* drawing, const Shape* shape, int32_t face) {
    Side* side = drawing->sides + (face & (N_SIDES - 1));
    if (side->face == face) return side;
    const double* T_world_link = drawing->scene->poses + 12 * shape->link;
    float corners[3][3];
    corners_of(drawing->T_camera_link[shape - drawing->scene->shapes], shape, face - shape->first_face, corners);
    const Plane plane = plane_of((const float(*)[3])corners);
    side->face = face, side->is_even = is_even_inside(drawing, shape, face);
    memcpy(side->normal, plane.normal, sizeof side->normal);
    side->offset = plane.offset;
    cross(plane.e2, plane.normal, side->rise[0]), cross(plane.normal, plane.e1, side->rise[1]);
    for (int k = 0; k < 2; k++) {
        side->from[k] = 0.0;
        for (int i = 0; i < 3; i++) side->rise[k][i] /= plane.squared, side->from[k] += side->rise[k][i] * plane.a[i];
    }
    for (int k = 0; k < 3; k++) {
        float normal[3];
        rotate(T_world_link, shape->normals + 3 * shape->faces[3 * (face - shape->first_face) + k], normal);
        side->normals[k] = load3(normal);
    }
    side->turning = 0.0f;
    for (int k = 0; k < 3; k++) {
        const int next = (k + 1) % 3;
        const Four change = side->normals[next] - side->normals[k];
        const float* a = corners[k];
        const float* b = corners[next];
        const float x = b[0] - a[0], y = b[1] - a[1], z = b[2] - a[2];
        side->turning = most(side->turning, sqrtf(dot3(change, change) / most(x * x + y * y + z * z, 1e-12f)));
    }
    side->length = (float)sqrt(plane.squared);
    const float scale = (plane.offset > 0.0 ? -1.0f : 1.0f) / side->length; /* towards the camera */
    side->flat = four(0.0f);
    for (int k = 0; k < 3; k++) side->flat += scale * (float)plane.normal[k] * drawing->camera_axes[k];
    side->is_lit = 1, side->right = side->down = 0.0f;
    if (drawing->map) {
        const double* R = drawing->map->R;
        double in_light[3];
        for (int i = 0; i < 3; i++)
            in_light[i] = R[3 * i] * side->flat[0] + R[3 * i + 1] * side->flat[1] + R[3 * i + 2] * side->flat[2];
        side->is_lit = in_light[2] > 0.02;
        const float texel_m = (float)drawing->map->texel_m;
        side->right = texel_m * most(least((float)(-in_light[0] / in_light[2]), STEEPEST), -STEEPEST);
        side->down = texel_m * most(least((float)(-in_light[1] / in_light[2]), STEEPEST), -STEEPEST);
    }
    return side;
}

/* Finds the point of a triangle's plane on the ray at (u, v) half pixels. */
static void find_point(const Drawing* drawing, const Side* side, int u, int v, Point* point) {
    const double d[3] = {drawing->slopes_right[u], drawing->slopes_down[v], 1.0};
    double shares[2];
    const double z = side->offset / (side->normal[0] * d[0] + side->normal[1] * d[1] + side->normal[2] * d[2]);
    for (int k = 0; k < 2; k++) {
        const double* rise = side->rise[k];
        shares[k] = z * (rise[0] * d[0] + rise[1] * d[1] + rise[2] * d[2]) - side->from[k];
    }
    point->shares = (Four){(float)(1.0 - shares[0] - shares[1]), (float)shares[0], (float)shares[1], 0.0f};
    Four smooth = four(0.0f), view = four(0.0f);
    for (int k = 0; k < 3; k++) {
        point->p[k] = (float)(z * d[k]);
        smooth += point->shares[k] * side->normals[k];
        view -= point->p[k] * drawing->camera_axes[k];
    }
    smooth *= (dot3(smooth, side->flat) < 0.0f ? -1.0f : 1.0f) / sqrtf(most(dot3(smooth, smooth), 1e-30f));
    view *= 1.0f / sqrtf(most(dot3(view, view), 1e-30f));
    point->normal = smooth, point->view = view, point->facing = dot3(side->flat, view);
    const float pixel_m = sqrtf(dot(point->p, point->p)) / (float)drawing->view->fy;
    point->turning = side->turning * pixel_m / most(point->facing, 0.2f);
}

/* Writes where a point is in the shadow map. A surface that turns away from the sun gets none. */
static void place_in_shadow(const Drawing* drawing, const Side* side, const Point* point, Facet* facet) {
    if (facet->place[0] < -1e5f) return;
    if (!side->is_lit) store(facet->sun, four(0.0f));
    const Four *axes = drawing->light_axes, x = point->p[0] * axes[0], y = point->p[1] * axes[1], z = point->p[2] * axes[2];
    store(facet->place, drawing->light_start + x + y + z);
    facet->right = side->right, facet->down = side->down;
}

/* ---- flat triangles: light that changes slowly is computed at the corners of cells ---- */

static int cells_along(const View* view) { return (view->width + CELL - 1) / CELL + 1; }

/* Whether a triangle is flat, and its light changes little within a cell. This follows from the triangle and the camera
 * alone, so that a pixel has the same light whatever lies around it. */
static int is_even_inside(const Drawing* drawing, const Shape* shape, int32_t face) {
    const float a = shape->roughness * shape->roughness; /* width of a highlight [rad] */
    if (drawing->scene->is_even || shape->emission > 0.0f || a * (float)drawing->view->fy < 2.0f * CELL) return 0;
    if (shape->texture && shape->metalness > 0.0f) return 0; /* its light is not linear in its colour */
    const int32_t* corners = shape->faces + 3 * (face - shape->first_face);
    const float *p = shape->normals + 3 * corners[0], *q = shape->normals + 3 * corners[1], *r = shape->normals + 3 * corners[2];
    return dot(p, q) > 0.999999f && dot(p, r) > 0.999999f;
}

static void light_knot(Drawing* drawing, const Shape* shape, const Side* side, int column, int row, Knot* knot) {
    const View* view = drawing->view;
    Facet facet, bright;
    memset(&facet, 0, sizeof facet), memset(&bright, 0, sizeof bright);
    Point point;
    knot->face = side->face, knot->row = row;
    drawing->cell.face = -1;
    find_point(drawing, side, 2 * CELL * column, 2 * CELL * row, &point);
    knot->is_fit = point.p[2] > (float)view->near && point.p[2] < (float)view->far;
    if (!knot->is_fit) return;
    knot->nearness = 1.0f / point.p[2];
    knot->normal = point.normal;
    light_point(drawing->scene, shape, shape->texture ? four(0.0f) : load3(shape->colour), &point, &facet);
    place_in_shadow(drawing, side, &point, &facet);
    knot->values[0] = load(facet.sky), knot->values[1] = load(facet.sun), knot->values[2] = load(facet.place);
    if (!shape->texture) return;
    light_point(drawing->scene, shape, four(1.0f), &point, &bright);
    place_in_shadow(drawing, side, &point, &bright);
    knot->values[3] = load(bright.sky) - knot->values[0], knot->values[4] = load(bright.sun) - knot->values[1];
    knot->values[5] = place_in_texture(view, shape, side, &point);
}

static const Knot* find_knot(Drawing* drawing, const Shape* shape, const Side* side, int column, int row) {
    const int32_t face = side->face;
    Knot* knots = drawing->knots + ((size_t)(row & 1) * cells_along(drawing->view) + column) * N_KNOTS;
    for (int k = 0; k < N_KNOTS; k++)
        if (knots[k].face == face && knots[k].row == row) return knots + k;
    int oldest = face % N_KNOTS;
    for (int k = 0; k < N_KNOTS; k++)
        if (knots[k].row != row) oldest = k;
    light_knot(drawing, shape, side, column, row, knots + oldest);
    return knots + oldest;
}

static inline Four mix_knots(const Knot* const* knots, Four shares, int value) {
    return shares[0] * knots[0]->values[value] + shares[1] * knots[1]->values[value] + shares[2] * knots[2]->values[value] +
           shares[3] * knots[3]->values[value];
}

/* Lights the point of a flat triangle at (u, v) from the corners of its cell. Returns 0 where that is not possible. */
static int mix_light(Drawing* drawing, const Shape* shape, const Side* side, float u, float v, Facet* facet, Point* point) {
    const int column = clamp((int)u / CELL, 0, cells_along(drawing->view) - 2), row = v < 0.0f ? 0 : (int)v / CELL;
    const float right = u * (1.0f / CELL) - column, down = v * (1.0f / CELL) - row;
    const Knot** knots = drawing->cell.knots;
    if (drawing->cell.face != side->face || drawing->cell.column != column || drawing->cell.row != row) {
        for (int k = 0; k < 4; k++) knots[k] = find_knot(drawing, shape, side, column + (k & 1), row + (k >> 1));
        drawing->cell.face = side->face, drawing->cell.column = column, drawing->cell.row = row;
        const Four near = {knots[0]->nearness, knots[1]->nearness, knots[2]->nearness, knots[3]->nearness};
        const float low = least(least(near[0], near[1]), least(near[2], near[3]));
        const float high = most(most(near[0], near[1]), most(near[2], near[3]));
        drawing->cell.nearness = near;
        drawing->cell.is_fit = (knots[0]->is_fit & knots[1]->is_fit & knots[2]->is_fit & knots[3]->is_fit) &&
                               !(high > 1.5f * low); /* else it is seen at a grazing angle */
    }
    if (!drawing->cell.is_fit) return 0;
    Four shares = drawing->cell.nearness * (Four){(1.0f - right) * (1.0f - down), right * (1.0f - down), (1.0f - right) * down, right * down};
    const float depth = 1.0f / (shares[0] + shares[1] + shares[2] + shares[3]);
    shares *= depth;
    Four sky = mix_knots(knots, shares, 0), sun = mix_knots(knots, shares, 1);
    point->p[2] = depth;
    point->normal = knots[0]->normal;
    if (shape->texture) {
        const Four place = mix_knots(knots, shares, 5);
        const Four colour = load3(shape->colour) * look_up_texture(drawing->scene, shape->texture, place[0], place[1], place[2]);
        sky += colour * mix_knots(knots, shares, 3), sun += colour * mix_knots(knots, shares, 4);
    }
    store(facet->sky, sky), store(facet->sun, sun), store(facet->place, mix_knots(knots, shares, 2));
    facet->right = side->right;
    return 1;
}

/* Lights a triangle on the ray at (u, v) half pixels. */
static void light_triangle(Drawing* drawing, const Shape* shape, int32_t face, int u, int v, Facet* facet, Point* point) {
    const Side* side = find_side(drawing, shape, face);
    if (side->is_even && mix_light(drawing, shape, side, 0.5f * u, 0.5f * v, facet, point)) return;
    Four colour = load3(shape->colour);
    find_point(drawing, side, u, v, point);
    if (shape->texture) {
        const Four place = place_in_texture(drawing->view, shape, side, point);
        colour *= look_up_texture(drawing->scene, shape->texture, place[0], place[1], place[2]);
    }
    light_point(drawing->scene, shape, colour, point, facet);
    place_in_shadow(drawing, side, point, facet);
}

/* What a sample shows: a triangle, and one in front of it that one can see through; -1: none. */
typedef struct {
    int32_t face, clear;
} Seen;

/* Returns what a sample shows; `clear`: whether it may show something that one can see through. */
static inline Seen seen_at(const View* view, size_t sample, int clear) {
    Seen seen = {view->layers[0].face[sample], -1};
    if (clear && view->layers[1].near[sample] > view->layers[0].near[sample]) seen.clear = view->layers[1].face[sample];
    return seen;
}

/* Whether a pixel may show something that one can see through. */
static inline int may_be_clear(const View* view, int column, int row) {
    const Rect rect = view->clear; /* empty if there is no such layer */
    const int along = view->samples_along;
    return along * column < rect.right && along * column + along >= rect.left && along * row < rect.bottom &&
           along * row + along >= rect.top;
}

/* Lights a triangle, and one in front of it that one can see through; -1: none. */
static void light_facet(Drawing* drawing, int32_t face, int32_t clear, int row, int u, int v, Facet* facet, Point* point) {
    const View* view = drawing->view;
    memset(facet, 0, sizeof *facet);
    if (face >= 0) {
        light_triangle(drawing, shape_of(drawing, face), face, u, v, facet, point);
    } else {
        memcpy(facet->sun, view->background + 3 * row, sizeof facet->sun);
        facet->place[0] = -1e6f;
    }
    if (clear >= 0) {
        Facet front = {0};
        const Shape* shape = shape_of(drawing, clear);
        light_triangle(drawing, shape, clear, u, v, &front, point);
        if (face < 0) facet->place[0] = -1e6f;
        for (int k = 0; k < 3; k++) {
            facet->sky[k] += shape->alpha * (front.sky[k] - facet->sky[k]);
            facet->sun[k] += shape->alpha * (front.sun[k] - facet->sun[k]);
        }
    }
    facet->share = 0.0f;
}

static const float SAME_SIDE = 0.9f; /* cosine between normals of triangles that are lit together */

/* Whether two samples show the same side of a thing. */
static int is_same_side(Drawing* drawing, Seen a, Seen b) {
    if (a.face == b.face && a.clear == b.clear) return 1;
    const int32_t pairs[2][2] = {{a.face, b.face}, {a.clear, b.clear}};
    for (int k = 0; k < 2; k++) {
        if (pairs[k][0] == pairs[k][1]) continue;
        if (pairs[k][0] < 0 || pairs[k][1] < 0) return 0;
        const Shape *first = shape_of(drawing, pairs[k][0]), *second = shape_of(drawing, pairs[k][1]);
        if (first != second) return 0;
        const float* normals = first->face_normals - 3 * (ptrdiff_t)first->first_face;
        if (dot(normals + 3 * (ptrdiff_t)pairs[k][0], normals + 3 * (ptrdiff_t)pairs[k][1]) < SAME_SIDE) return 0;
    }
    return 1;
}

/* A pixel is the mean of nine samples, the middle ones count more: its neighbours share those on its border. */
static const int AROUND[9][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1}, {-1, 1}, {1, 1}};
static const float WEIGHTS[9] = {0.25f, 0.125f, 0.125f, 0.125f, 0.125f, 0.0625f, 0.0625f, 0.0625f, 0.0625f};

/* Keeps what corners that darken each other need to know of the middle of a pixel. */
static void keep_middle(const Drawing* drawing, size_t pixel, const Point* point) {
    drawing->view->depth[pixel] = point->p[2];
    float* normal = drawing->view->normals + 3 * pixel;
    for (int i = 0; i < 3; i++) normal[i] = dot3(drawing->camera_axes[i], point->normal);
}

/* Whether all samples of a pixel around its middle one show the same triangles. */
static int shows_one(const View* view, size_t middle, ptrdiff_t wide, int clear) {
    for (int l = 0; l <= clear; l++) {
        const int32_t *at = view->layers[l].face + middle, face = *at;
        FourWhole differs = {0, 0, 0, 0}; /* of each row three samples, and one more that does not count */
        for (int j = -1; j <= 1; j++) differs |= *(const FourWholeInMemory*)(at + j * wide - 1) ^ face;
        if (differs[0] | differs[1] | differs[2]) return 0;
    }
    return !clear || view->layers[1].face[middle] < 0; /* else the nearer one may change within the pixel */
}

/* Makes the facets of a pixel, from `at` on; returns how many. */
static int make_facets(Drawing* drawing, int column, int row, Facet* at) {
    View* view = drawing->view;
    const int along = view->samples_along, n_samples = along == 1 ? 1 : 9;
    const size_t middle = along == 1 ? (size_t)row * drawing->samples_wide + column
                                     : (size_t)(2 * row + 1) * drawing->samples_wide + 2 * column + 1;
    const size_t pixel = (size_t)row * view->width + column;
    Seen sides[MAX_FACETS], seen[9];
    int count = 0, empty = 1, alike = 1;
    Point point;
    view->depth[pixel] = 0.0f;
    const int clear = may_be_clear(view, column, row);
    if (along == 2 && shows_one(view, middle, drawing->samples_wide, clear)) {
        const int32_t face = view->layers[0].face[middle];
        if (face < 0) return 0;
        light_facet(drawing, face, -1, row, 2 * column, 2 * row, at, &point);
        keep_middle(drawing, pixel, &point);
        at->share = 1.0f;
        return 1;
    }
    for (int s = 0; s < n_samples; s++) {
        seen[s] = seen_at(view, middle + AROUND[s][1] * (ptrdiff_t)drawing->samples_wide + AROUND[s][0], clear);
        empty &= seen[s].face < 0 && seen[s].clear < 0;
        alike &= seen[s].face == seen[0].face && seen[s].clear == seen[0].clear;
    }
    if (empty) return 0;
    for (int s = 0; s < n_samples; s++) {
        int side = 0;
        const float weight = alike ? 1.0f : WEIGHTS[s];
        while (side < count && !is_same_side(drawing, sides[side], seen[s])) side++;
        if (side == MAX_FACETS) side--;
        if (side == count) {
            sides[count++] = seen[s];
            const int u = 2 * column + AROUND[s][0], v = 2 * row + AROUND[s][1];
            light_facet(drawing, seen[s].face, seen[s].clear, row, u, v, at + side, &point);
            if (s == 0 && (seen[s].face >= 0 || seen[s].clear >= 0)) keep_middle(drawing, pixel, &point);
        }
        at[side].share += weight;
        if (alike) break;
    }
    return count;
}

/* ---- darkened corners: ambient occlusion in the picture, McGuire et al. 2012, "Scalable Ambient Obscurance" ---- */

static const float REACH_M = 0.14f; /* distance of the surfaces that darken a point */
static const float LEAST_PX = 3.0f, MOST_PX = 90.0f, STRENGTH = 0.7f, DARKEST = 0.75f, BESIDE = 0.03f;

typedef struct {
    float right, down;
} Slope;

static int count_around(const View* view) { return view->is_fine ? N_AROUND : FEW_AROUND; }

/* Whether a pixel looks around: in pictures that are not fine every other one, as on a chessboard. */
static inline int looks(const View* view, int column, int row) { return view->is_fine || !((column ^ row) & 1); }

static void make_turns(Drawing* drawing) {
    const int n_around = count_around(drawing->view);
    for (int tile = 0; tile < TILE * TILE; tile++)
        for (int s = 0; s < n_around; s++) {
            const float angle = 2.0f * PI * (float)(tile * 7 % 16) / 16.0f + s * 2.39996f, share = (s + 0.5f) / n_around;
            drawing->turns[tile][0][s / 4][s % 4] = share * cosf(angle);
            drawing->turns[tile][1][s / 4][s % 4] = share * sinf(angle);
        }
}

static float reach_px(const View* view, float depth) {
    return most(least(REACH_M * (float)view->fy / depth, MOST_PX), LEAST_PX);
}

/* Returns the share of the sky's light that surfaces around a pixel take, of few samples. */
static float taken_light(const Drawing* drawing, int column, int row) {
    const View* view = drawing->view;
    const size_t pixel = (size_t)row * view->width + column;
    const float depth = view->depth[pixel], radius = reach_px(view, depth), *normal = view->normals + 3 * pixel;
    const float inverse_x = 1.0f / (float)view->fx, inverse_y = 1.0f / (float)view->fy;
    const float cx = (float)view->cx, cy = (float)view->cy, bias = 0.003f * depth;
    const float here[3] = {(column - cx) * inverse_x * depth, (row - cy) * inverse_y * depth, depth};
    const Four(*around)[N_AROUND / 4] = drawing->turns[(row % TILE) * TILE + column % TILE];
    const int n_around = count_around(view);
    Four taken = four(0.0f);
    for (int s = 0; s < n_around / 4; s++) {
        const FourWhole u = clamp_of(__builtin_convertvector(column + 0.5f + radius * around[0][s], FourWhole), view->width - 1);
        const FourWhole v = clamp_of(__builtin_convertvector(row + 0.5f + radius * around[1][s], FourWhole), view->height - 1);
        Four z;
        for (int k = 0; k < 4; k++) z[k] = view->depth[(size_t)v[k] * view->width + u[k]];
        const Four x = (__builtin_convertvector(u, Four) - cx) * inverse_x * z - here[0];
        const Four y = (__builtin_convertvector(v, Four) - cy) * inverse_y * z - here[1], further = z - here[2];
        const Four squared = x * x + y * y + further * further;
        const Four above = x * normal[0] + y * normal[1] + further * normal[2] - bias;
        const Four fading = 1.0f - squared * (1.0f / (4.0f * REACH_M * REACH_M));
        taken += chosen_of((z > 0.0f) & (above > 0.0f) & (fading > 0.0f), fading * above / (squared + 1e-4f));
    }
    const float sum = taken[0] + taken[1] + taken[2] + taken[3];
    return least(sum * (2.0f * REACH_M / n_around * STRENGTH), 1.0f);
}

/* Returns the share by which the plane at a pixel comes nearer from a pixel to the next, along a row and a column. */
static Slope slope_at(const View* view, size_t pixel, int column, int row) {
    const float *normal = view->normals + 3 * pixel, x = normal[0] / (float)view->fx, y = normal[1] / (float)view->fy;
    const float away = x * (column - (float)view->cx) + y * (row - (float)view->cy) + normal[2];
    const float inverse = 1.0f / least(away, -0.01f); /* normals look towards the camera */
    return (Slope){x * inverse, y * inverse};
}

/* Returns the mean over a tile of what is taken, of the pixels that are about as far away as the one in its middle, or
 * as its plane: one that is seen at a grazing angle would have none of them, and show the grid of those that look. */
static float smooth_taken(const View* view, int column, int row) {
    const size_t pixel = (size_t)row * view->width + column;
    const float depth = view->depth[pixel];
    const Slope slope = slope_at(view, pixel, column, row);
    float total = 0.0f;
    int count = 0;
    for (int j = row - TILE / 2; j < row + TILE / 2; j++)
        for (int i = column - TILE / 2; i < column + TILE / 2; i++) {
            const size_t at = (size_t)clamp(j, 0, view->height - 1) * view->width + clamp(i, 0, view->width - 1);
            const float there = view->depth[at], nearer = 1.0f + slope.right * (i - column) + slope.down * (j - row);
            const int beside = fabsf(there - depth) < BESIDE * depth || fabsf(there * nearer - depth) < BESIDE * depth;
            if (looks(view, i, j) && beside) total += view->taken[at], count++;
        }
    return count ? least(total / count, DARKEST) : 0.0f;
}

/* Writes smooth_taken of four pixels of a row, from a column on; all their tiles are within the picture. */
static void smooth_four(const View* view, int column, int row, float* smooth) {
    const ptrdiff_t wide = view->width, corner = (row - TILE / 2) * wide + column - TILE / 2;
    const float *taken = view->taken + corner, *depths = view->depth + corner;
    Four any = four(0.0f);
    for (int j = 0; j < TILE; j++) any += load(taken + j * wide) + load(taken + j * wide + TILE - 1);
    if (any[0] + any[1] + any[2] + any[3] == 0.0f) {
        store(smooth, four(0.0f));
        return;
    }
    const Four depth = load(view->depth + row * wide + column), beside = BESIDE * depth;
    const FourWhole every = {-1, -1, -1, -1}, evens = {-1, 0, -1, 0};
    const FourWhole looking[2] = {view->is_fine ? every : evens, view->is_fine ? every : ~evens};
    Four total = four(0.0f), right, down;
    FourWhole count = {0, 0, 0, 0};
    for (int k = 0; k < 4; k++) {
        const Slope slope = slope_at(view, (size_t)row * view->width + column + k, column + k, row);
        right[k] = slope.right, down[k] = slope.down;
    }
    for (int i = 0; i < TILE; i++) { /* sums by columns, which are added from left to right */
        Four sum = four(0.0f);
        for (int j = 0; j < TILE; j++) {
            const Four there = load(depths + j * wide + i), apart = there - depth;
            const Four nearer = 1.0f + right * (float)(i - TILE / 2) + down * (float)(j - TILE / 2);
            const Four off = there * nearer - depth;
            const FourWhole is_near = ((apart < beside) & (apart > -beside)) | ((off < beside) & (off > -beside));
            const FourWhole used = is_near & looking[(column + row + i + j) & 1];
            sum += chosen_of(used, load(taken + j * wide + i)), count -= used;
        }
        total += sum;
    }
    const Four mean = total / most_of(__builtin_convertvector(count, Four), four(1.0f));
    store(smooth, least_of(mean, four(DARKEST)));
}

/* Writes smooth_taken of some pixels of a row. */
static void smooth_row(const View* view, int row, int left, int right, float* smooth) {
    const int is_inside = row >= TILE / 2 && row + TILE / 2 <= view->height;
    for (int column = left; column < right;) {
        if (is_inside && column >= TILE / 2 && column + 3 + TILE / 2 <= view->width && column + 4 <= right) {
            smooth_four(view, column, row, smooth + column - left);
            column += 4;
        } else {
            smooth[column - left] = smooth_taken(view, column, row);
            column++;
        }
    }
}

/* ---- pictures ---- */

/* Writes the levels of a pixel of whose sky's light a share is taken. */
static inline void put_together(const Drawing* drawing, int column, int row, float taken, uint8_t* rgb) {
    const View* view = drawing->view;
    const Scene* scene = drawing->scene;
    const size_t pixel = (size_t)row * view->width + column;
    Four sum = view->count[pixel] ? four(0.0f) : load3(view->background + 3 * row);
    const float left = 1.0f - taken;
    for (int f = 0; f < view->count[pixel]; f++) {
        const Facet* facet = view->facets + view->first[pixel] + f;
        const Four sun = load(facet->sun);
        const float lit = sun[0] + sun[1] + sun[2] > 0.0f ? sun_share(drawing->map, facet) : 0.0f;
        sum += facet->share * least_of(left * load(facet->sky) + lit * sun, four(scene->brightest));
    }
    const Four root = root_of(most_of(sum, four(0.0f)) * (1.0f / scene->brightest));
    const FourWhole step = clamp_of(__builtin_convertvector(root * (LINEAR_STEPS - 1.0f) + 0.5f, FourWhole), LINEAR_STEPS - 1);
    for (int k = 0; k < 3; k++) rgb[3 * pixel + k] = scene->levels[step[k]];
}

static Rect whole(const View* view) { return (Rect){0, 0, view->width, view->height}; }

/* Which blocks of a grid are marked, as sums over all blocks above and to the left. */
typedef struct {
    int wide, high;
    int32_t* sums; /* (high + 1, wide + 1) */
} Marks;

static int blocks_along(int size) { return (size + BLOCK - 1) / BLOCK; }

static Marks make_marks(int width, int height) {
    const int wide = blocks_along(width), high = blocks_along(height);
    return (Marks){wide, high, calloc((size_t)(wide + 1) * (high + 1), sizeof(int32_t))};
}

static inline void mark(const Marks* marks, int column, int row) {
    marks->sums[(size_t)(row / BLOCK + 1) * (marks->wide + 1) + column / BLOCK + 1] = 1;
}

static void sum_marks(const Marks* marks) {
    for (int j = 1; j <= marks->high; j++)
        for (int i = 1; i <= marks->wide; i++) {
            int32_t* sum = marks->sums + (size_t)j * (marks->wide + 1) + i;
            *sum += sum[-1] + sum[-marks->wide - 1] - sum[-marks->wide - 2];
        }
}

/* Whether a block is marked that a rectangle touches, from left, top to right, bottom. */
static int is_marked(const Marks* marks, float left, float top, float right, float bottom) {
    const int i0 = clamp(floor_of(left / BLOCK), 0, marks->wide), i1 = clamp(floor_of(right / BLOCK) + 1, i0, marks->wide);
    const int j0 = clamp(floor_of(top / BLOCK), 0, marks->high), j1 = clamp(floor_of(bottom / BLOCK) + 1, j0, marks->high);
    const int32_t *upper = marks->sums + (size_t)j0 * (marks->wide + 1), *lower = marks->sums + (size_t)j1 * (marks->wide + 1);
    return lower[i1] - lower[i0] - upper[i1] + upper[i0] > 0;
}

typedef struct {
    float depth; /* of the middle of its box [m] */
    int shape;
} Place;

static int compare_places(const void* a, const void* b) {
    const Place *first = a, *second = b;
    if (first->depth != second->depth) return first->depth < second->depth ? -1 : 1;
    return first->shape - second->shape;
}

static float depth_of_middle(const float* T, const Shape* shape) {
    float depth = T[11];
    for (int i = 0; i < 3; i++) depth += 0.5f * T[8 + i] * (shape->low[i] + shape->high[i]);
    return depth;
}

/* Returns the chosen shapes of a layer, near ones first: they leave out most of what is behind them. */
static int order_shapes(const Drawing* drawing, int which, int is_clear, Place* places) {
    int n = 0;
    for (int s = 0; s < drawing->scene->n_shapes; s++) {
        const Shape* shape = drawing->scene->shapes + s;
        if (chosen(shape, which) && shape->is_clear == is_clear)
            places[n++] = (Place){depth_of_middle(drawing->T_camera_link[s], shape), s};
    }
    qsort(places, n, sizeof *places, compare_places);
    return n;
}

/* Clears the samples of a layer. What one can see through is rare, so of that layer only what was drawn is cleared. */
static void clear_layer(View* view, int layer, int wide, int high, float farthest) {
    Rect rect = {0, 0, wide, high};
    if (layer == 1) {
        if (view->cleared == farthest) rect = view->clear;
        view->cleared = farthest, view->clear = (Rect){0, 0, 0, 0};
    }
    for (int row = rect.top; row < rect.bottom; row++) {
        float* near = view->layers[layer].near + (size_t)row * wide;
        for (int i = rect.left; i < rect.right; i++) near[i] = farthest;
        int32_t* face = view->layers[layer].face + (size_t)row * wide;
        for (int i = rect.left; i < rect.right; i++) face[i] = -1;
    }
}

/* Draws chosen shapes into the samples, which are cleared before for those that stand still. */
static int draw_samples(Drawing* drawing, int which, Rect* drawn) {
    View* view = drawing->view;
    const int wide = drawing->samples_wide, high = view->samples_along * view->height + (view->samples_along == 2);
    const size_t n_chunks = (size_t)chunks_along(wide) * high;
    const float farthest = (float)(1.0 / view->far);
    float *corners = make_corners(drawing->scene), *least_near = malloc(n_chunks * sizeof *least_near);
    Place* places = malloc((drawing->scene->n_shapes + 1) * sizeof *places);
    const int done = corners && least_near && places;
    *drawn = (Rect){0, 0, 0, 0};
    for (int l = 0; done && l <= view->has_clear; l++) {
        Layer* layer = view->layers + l;
        const double first = view->samples_along == 2 ? -0.5 : 0.0;
        Grid grid = {wide, high, view->samples_along, first, layer->near, layer->face, {0, 0, 0, 0}, corners, least_near};
        for (size_t i = 0; i < n_chunks; i++) least_near[i] = farthest;
        if (which & STANDS) clear_layer(view, l, wide, high, farthest);
        const int n_places = order_shapes(drawing, which, l, places);
        for (int k = 0; k < n_places; k++) {
            const int s = places[k].shape;
            draw_shape(&grid, view, drawing->T_camera_link[s], drawing->scene->shapes + s);
        }
        const Rect rect = grid.drawn;
        if (rect.right <= rect.left) continue;
        include(drawn, rect.left, rect.top, rect.right, rect.bottom);
        if (l == 1) include(&view->clear, rect.left, rect.top, rect.right, rect.bottom);
    }
    free(corners), free(least_near), free(places);
    return done;
}

/* Whether a pixel shows something else than what stands still. */
static int differs_from_kept(const Drawing* drawing, int column, int row) {
    const View* view = drawing->view;
    const int along = view->samples_along, last = along == 2 ? 2 : 0;
    for (int j = along * row; j <= along * row + last; j++)
        for (int i = along * column; i <= along * column + last; i++) {
            const size_t sample = (size_t)j * drawing->samples_wide + i;
            for (int l = 0; l <= view->has_clear; l++)
                if (view->layers[l].face[sample] != view->layers[l].kept_face[sample]) return 1;
        }
    return 0;
}

/* Makes the facets of pixels in a rectangle: of all (`changed` is NULL), or of those that show something else than what
 * stands still, and marks these. */
static int make_all_facets(Drawing* drawing, Rect rect, int first, const Marks* changed) {
    View* view = drawing->view;
    for (size_t k = 0; k < 2 * (size_t)cells_along(view) * N_KNOTS; k++) drawing->knots[k].row = drawing->knots[k].face = -1;
    drawing->cell.face = -1;
    for (int row = rect.top; row < rect.bottom; row++)
        for (int column = rect.left; column < rect.right; column++) {
            const size_t pixel = (size_t)row * view->width + column;
            if (changed && !differs_from_kept(drawing, column, row)) continue;
            if (changed) mark(changed, column, row);
            view->first[pixel] = first;
            first += view->count[pixel] = (uint8_t)make_facets(drawing, column, row, view->facets + first);
        }
    return first;
}

/* Computes what is taken from the sky's light in a rectangle. */
static void darken(Drawing* drawing, Rect rect) {
    View* view = drawing->view;
    for (int row = rect.top; row < rect.bottom; row++)
        for (int column = rect.left; column < rect.right; column++) {
            const size_t pixel = (size_t)row * view->width + column;
            const int is_dark = view->depth[pixel] != 0.0f && looks(view, column, row);
            view->taken[pixel] = is_dark ? taken_light(drawing, column, row) : 0.0f;
        }
}

static void put_all_together(Drawing* drawing, Rect rect) {
    float smooth[AT_ONCE];
    for (int row = rect.top; row < rect.bottom; row++)
        for (int left = rect.left; left < rect.right; left += AT_ONCE) {
            const int right = left + AT_ONCE < rect.right ? left + AT_ONCE : rect.right;
            smooth_row(drawing->view, row, left, right, smooth);
            for (int column = left; column < right; column++)
                put_together(drawing, column, row, smooth[column - left], drawing->view->rgb);
        }
}

static Rect block_rect(const View* view, int i, int j) {
    return (Rect){i * BLOCK, j * BLOCK, clamp((i + 1) * BLOCK, 0, view->width), clamp((j + 1) * BLOCK, 0, view->height)};
}

#define COPY(name, rect, per_pixel) \
    copy_rows(view->name, view->kept_##name, rect, view->width, (per_pixel) * sizeof *view->name)
#define KEEP(name, per_pixel) \
    memcpy(view->kept_##name, view->name, (size_t)view->width * view->height * (per_pixel) * sizeof *view->name)

/* Draws and lights what stands still (or everything, if nothing is kept). */
static int draw_still(Drawing* drawing, int which) {
    View* view = drawing->view;
    const Rect all = whole(view);
    Rect drawn;
    if (!draw_samples(drawing, which, &drawn)) return 0;
    view->n_kept = make_all_facets(drawing, all, 0, NULL);
    darken(drawing, all);
    put_all_together(drawing, all);
    return 1;
}

static Rect pixel_rect(const View* view, Rect rect) {
    if (view->samples_along == 1 || rect.right <= rect.left) return rect;
    return (Rect){clamp((rect.left - 1) / 2 - 1, 0, view->width), clamp((rect.top - 1) / 2 - 1, 0, view->height),
                  clamp(rect.right / 2 + 1, 0, view->width), clamp(rect.bottom / 2 + 1, 0, view->height)};
}

static void keep_samples(Drawing* drawing) {
    View* view = drawing->view;
    const size_t n = (size_t)drawing->samples_wide * (view->samples_along * view->height + (view->samples_along == 2));
    for (int l = 0; l <= view->has_clear; l++) {
        memcpy(view->layers[l].kept_near, view->layers[l].near, n * sizeof(float));
        memcpy(view->layers[l].kept_face, view->layers[l].face, n * sizeof(int32_t));
    }
    view->is_kept = 1;
    view->drawn = (Rect){0, 0, 0, 0};
}

/* Brings back samples of what stands still, where things were drawn over it. */
static void restore_samples(Drawing* drawing) {
    View* view = drawing->view;
    for (int l = 0; l <= view->has_clear; l++) {
        Layer* layer = view->layers + l;
        copy_rows(layer->near, layer->kept_near, view->drawn, drawing->samples_wide, sizeof(float));
        copy_rows(layer->face, layer->kept_face, view->drawn, drawing->samples_wide, sizeof(int32_t));
    }
}

static void keep(Drawing* drawing) {
    View* view = drawing->view;
    keep_samples(drawing);
    KEEP(first, 1), KEEP(count, 1), KEEP(depth, 1), KEEP(normals, 3), KEEP(taken, 1), KEEP(rgb, 3);
    for (int j = 0; j < blocks_along(view->height); j++)
        for (int i = 0; i < blocks_along(view->width); i++) { /* where its pixels are in the shadow map */
            float* bounds = view->kept_bounds + 4 * ((size_t)j * blocks_along(view->width) + i);
            const Rect rect = block_rect(view, i, j);
            bounds[0] = bounds[1] = 1e6f, bounds[2] = bounds[3] = -1e6f;
            for (int row = rect.top; row < rect.bottom; row++)
                for (int column = rect.left; column < rect.right; column++) {
                    const size_t pixel = (size_t)row * view->width + column;
                    for (int f = 0; f < view->count[pixel]; f++) {
                        const float* place = view->facets[view->first[pixel] + f].place;
                        for (int k = 0; k < 2 && place[0] > -1e5f; k++)
                            bounds[k] = least(bounds[k], place[k]), bounds[2 + k] = most(bounds[2 + k], place[k]);
                    }
                }
        }
}

/* Marks where the shadow map differs from the one of what stands still. */
static void mark_shadows(const ShadowMap* map, const Marks* marks) {
    for (int row = map->changed.top; row < map->changed.bottom; row++)
        for (int column = map->changed.left; column < map->changed.right; column++) {
            const size_t texel = (size_t)row * map->side + column;
            if (map->now[texel] != map->kept[texel]) mark(marks, column, row);
        }
    sum_marks(marks);
}

/* Lights the blocks that what moves has changed: its pixels, those that may see it near by, and its shadows. */
static void light_changed(Drawing* drawing, const Marks* changed, const Marks* lit, const Marks* shadows) {
    View* view = drawing->view;
    sum_marks(changed);
    mark_shadows(drawing->map, shadows);
    for (int j = 0; j < lit->high; j++)
        for (int i = 0; i < lit->wide; i++) {
            const Rect rect = block_rect(view, i, j);
            float nearest = 1e6f;
            for (int row = rect.top; row < rect.bottom; row++)
                for (int column = rect.left; column < rect.right; column++) {
                    const float depth = view->depth[(size_t)row * view->width + column];
                    if (depth != 0.0f) nearest = least(nearest, depth);
                }
            const float reach = reach_px(view, nearest) + 2.0f;
            if (!is_marked(changed, rect.left - reach, rect.top - reach, rect.right + reach, rect.bottom + reach)) continue;
            darken(drawing, rect);
            mark(lit, rect.left, rect.top);
        }
    sum_marks(lit);
    for (int j = 0; j < lit->high; j++)
        for (int i = 0; i < lit->wide; i++) {
            const Rect rect = block_rect(view, i, j);
            const float* bounds = view->kept_bounds + 4 * ((size_t)j * lit->wide + i);
            if (is_marked(lit, rect.left - TILE, rect.top - TILE, rect.right + TILE, rect.bottom + TILE) ||
                (bounds[0] <= bounds[2] &&
                 is_marked(shadows, bounds[0] - 4.0f, bounds[1] - 4.0f, bounds[2] + 4.0f, bounds[3] + 4.0f)))
                put_all_together(drawing, rect);
        }
}

/* Draws what moves over what is kept. */
static int draw_moving(Drawing* drawing) {
    View* view = drawing->view;
    const Rect before = pixel_rect(view, view->drawn);
    restore_samples(drawing);
    COPY(first, before, 1), COPY(count, before, 1), COPY(depth, before, 1), COPY(normals, before, 3);
    COPY(taken, whole(view), 1), COPY(rgb, whole(view), 3);
    if (!draw_samples(drawing, MOVES, &view->drawn)) return 0;
    const Marks changed = make_marks(view->width, view->height), lit = make_marks(view->width, view->height);
    const Marks shadows = make_marks(drawing->map->side, drawing->map->side);
    const int done = changed.sums && lit.sums && shadows.sums;
    if (done) {
        make_all_facets(drawing, pixel_rect(view, view->drawn), view->n_kept, &changed);
        light_changed(drawing, &changed, &lit, &shadows);
    }
    free(changed.sums), free(lit.sums), free(shadows.sums);
    return done;
}

/* Returns the slopes of rays from half a pixel before the first one to the last corner of a cell; NULL: no memory. */
static double* make_slopes(int size, double centre, double focal) {
    const int n = 2 * (size + CELL) + 1;
    double* slopes = malloc(n * sizeof *slopes);
    for (int k = 0; k < n && slopes; k++) slopes[k] = (0.5 * (k - 1) - centre) / focal;
    return slopes ? slopes + 1 : NULL;
}

static int begin(Drawing* drawing, const Scene* scene, const ShadowMap* map, View* view) {
    memset(drawing, 0, sizeof *drawing);
    drawing->scene = scene, drawing->map = map, drawing->view = view;
    drawing->samples_wide = view->samples_along * view->width + (view->samples_along == 2);
    drawing->T_camera_link = malloc((scene->n_shapes + 1) * sizeof *drawing->T_camera_link);
    drawing->knots = malloc(2 * (size_t)cells_along(view) * N_KNOTS * sizeof *drawing->knots);
    drawing->sides = malloc(N_SIDES * sizeof *drawing->sides);
    drawing->slopes_right = make_slopes(view->width, view->cx, view->fx);
    drawing->slopes_down = make_slopes(view->height, view->cy, view->fy);
    if (!drawing->T_camera_link || !drawing->knots || !drawing->sides || !drawing->slopes_right || !drawing->slopes_down)
        return 0;
    for (int k = 0; k < N_SIDES; k++) drawing->sides[k].face = -1;
    const double* T = view->T_camera_world;
    for (int k = 0; k < 3; k++) drawing->camera_axes[k] = (Four){(float)T[4 * k], (float)T[4 * k + 1], (float)T[4 * k + 2], 0.0f};
    for (int i = 0; i < 3 && map; i++) { /* R (R' (p - t) - middle), in texels along rows and columns */
        const double *axis = map->R + 3 * i, scale = i < 2 ? 1.0 / map->texel_m : 1.0;
        double start = -axis[0] * map->middle[0] - axis[1] * map->middle[1] - axis[2] * map->middle[2];
        for (int k = 0; k < 3; k++) {
            const double along = axis[0] * T[4 * k] + axis[1] * T[4 * k + 1] + axis[2] * T[4 * k + 2];
            drawing->light_axes[k][i] = (float)(scale * along);
            start -= along * T[4 * k + 3];
        }
        drawing->light_start[i] = (float)(scale * start + (i < 2 ? 0.5 * (map->side - 1) : 0.0));
    }
    for (int s = 0; s < scene->n_shapes; s++) {
        double T[12];
        compose(view->T_camera_world, scene->poses + 12 * scene->shapes[s].link, T);
        to_single(T, drawing->T_camera_link[s]);
    }
    return 1;
}

static void end(Drawing* drawing) {
    free(drawing->T_camera_link), free(drawing->knots), free(drawing->sides);
    if (drawing->slopes_right) free(drawing->slopes_right - 1);
    if (drawing->slopes_down) free(drawing->slopes_down - 1);
}

/* Draws a picture. */
EXPORT int raster_draw_picture(const Scene* scene, ShadowMap* map, View* view) {
    Drawing drawing;
    int done = begin(&drawing, scene, map, view);
    make_turns(&drawing);
    if (done && !view->keeps) {
        view->is_kept = 0;
        done = draw_still(&drawing, STANDS | MOVES);
    } else if (done) {
        if (!view->is_kept) {
            ShadowMap still = *map; /* the picture that is kept has the shadows of what stands still alone */
            still.now = map->kept;
            drawing.map = &still;
            done = draw_still(&drawing, STANDS);
            drawing.map = map;
            keep(&drawing);
        }
        done = done && draw_moving(&drawing);
    }
    end(&drawing);
    return done;
}

/* Writes exact depth [m] (infinite: nothing), link numbers, and normals of triangles (camera frame, towards it; NULL:
 * not wanted) of the centres of pixels. */
static void read_geometry(Drawing* drawing, float* depth, int32_t* links, float* normals) {
    const View* view = drawing->view;
    const Shape* shape = NULL;
    int32_t last = -1; /* the triangle whose plane is known */
    Plane plane;
    for (int row = 0; row < view->height; row++)
        for (int column = 0; column < view->width; column++) {
            const size_t pixel = (size_t)row * view->width + column;
            const Seen seen = seen_at(view, pixel, may_be_clear(view, column, row));
            const int32_t face = seen.clear >= 0 ? seen.clear : seen.face;
            double z = INFINITY, scale = 0.0;
            links[pixel] = 0;
            if (face >= 0) {
                if (face != last) {
                    float corners[3][3];
                    shape = shape_of(drawing, face);
                    const float* T = drawing->T_camera_link[shape - drawing->scene->shapes];
                    corners_of(T, shape, face - shape->first_face, corners);
                    plane = plane_of((const float(*)[3])corners), last = face;
                }
                const double* n = plane.normal;
                const double along = n[0] * drawing->slopes_right[2 * column] + n[1] * drawing->slopes_down[2 * row] + n[2];
                z = plane.offset / along;
                if (normals) scale = (along > 0.0 ? -1.0 : 1.0) / sqrt(plane.squared);
                links[pixel] = shape->link_id;
            }
            depth[pixel] = (float)z;
            for (int i = 0; normals && i < 3; i++) normals[3 * pixel + i] = face < 0 ? 0.0f : (float)(plane.normal[i] * scale);
        }
}

/* Draws geometry alone, and writes it as read_geometry says. */
EXPORT int raster_draw_geometry(const Scene* scene, View* view, float* depth, int32_t* links, float* normals) {
    Drawing drawing;
    int done = begin(&drawing, scene, NULL, view);
    if (done && !view->keeps) {
        done = draw_samples(&drawing, STANDS | MOVES, &view->drawn);
        view->is_kept = 0;
    } else if (done) {
        if (!view->is_kept) {
            done = draw_samples(&drawing, STANDS, &view->drawn);
            keep_samples(&drawing);
        }
        restore_samples(&drawing);
        done = done && draw_samples(&drawing, MOVES, &view->drawn);
    }
    if (done) read_geometry(&drawing, depth, links, normals);
    end(&drawing);
    return done;
}
