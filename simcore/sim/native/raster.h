/* What Python and the software renderer share: what is drawn, the light, the shadow map, and the views of cameras.
 * `unlatch/simcore/sim/renderers/software.py` declares the same structures, and checks their sizes when it loads them. */
#ifndef UNLATCH_RASTER_H
#define UNLATCH_RASTER_H

#include <stdint.h>

/* A picture that repeats, at resolutions that halve: rows from the top, three bytes sRGB each. */
typedef struct {
    int32_t n_levels, width, height; /* of the finest level */
    int32_t unused;
    const uint8_t* texels; /* all levels, the finest first */
} Texture;

/* The triangles of one shape in the frame of its link, and how they look. */
typedef struct {
    int32_t link;       /* place of its link in Scene.poses */
    int32_t first_face; /* number of its first triangle among all triangles of all shapes */
    int32_t n_vertices, n_faces, n_shadow_vertices, n_shadow_faces; /* no triangles for shadows: it casts none */
    int32_t is_sheet;   /* whether it is visible from its front alone */
    int32_t is_clear;   /* whether things behind it are visible through it */
    int32_t moves;      /* whether it is drawn anew in every picture */
    int32_t link_id;
    float low[3], high[3];   /* a box around it, in the frame of its link [m] */
    float colour[3], alpha;  /* linear */
    float roughness, metalness, emission;
    int32_t stays; /* whether it never moves: it is fixed to the world; other things may only stand still until now */
    const float *vertices, *normals, *uvs, *face_normals; /* (n, 3), uvs (n, 2) */
    const int32_t* faces;                                 /* (n, 3) */
    const float* shadow_vertices;
    const int32_t* shadow_faces;
    const Texture* texture;                                                 /* NULL: none */
    const float* radiance; /* (SKY_SIDE, SKY_SIDE, 3) light that it reflects, by direction, see octahedral_directions; and
                              one number more, which is read but not used */
} Shape;

#define SKY_SIDE 65      /* rows of a map of the surroundings */
#define WIDE 3           /* length of a texel of ShadowMap.wide in texels of the others */
#define LINEAR_STEPS 4096 /* of Scene.levels */

typedef struct {
    int32_t n_shapes, n_links;
    const Shape* shapes;   /* in the order of first_face */
    const double* poses;   /* (n_links, 12) T_world_link, three rows each */
    double sun[3];         /* unit vector towards the light, world frame */
    float sun_colour[3];   /* brightness of a white surface under the sun */
    float sun_gloss;       /* factor on its highlights */
    float sky_strength;    /* factor on the maps of the surroundings */
    float brightest;       /* linear brightness of the last level */
    int32_t has_shadow;
    int32_t is_even; /* whether pixels show the colours of surfaces alone, without light */
    const float* irradiance; /* (SKY_SIDE, SKY_SIDE, 3), as Shape.radiance, for matt surfaces */
    const uint8_t* levels;   /* (LINEAR_STEPS,) levels of a picture by the root of brightness / brightest */
    const float* linear;     /* (256,) linear values by sRGB levels */
} Scene;

typedef struct {
    int32_t left, top, right, bottom; /* of pixels; right and bottom are not part of it; empty where right <= left */
} Rect;

/* Distances along the light, larger towards it [m]: of all that stands still, and of everything. */
typedef struct {
    int32_t side, unused;
    double R[9], middle[3]; /* rows: right, down, towards the light; world frame [m] */
    double texel_m;
    float *kept, *now; /* (side, side) */
    float* wide;       /* (side, side) of what never moves, WIDE times as far around: shadows at the ends of a room */
    Rect changed;      /* where they differ */
} ShadowMap;

/* What a camera sees of one side of a thing within a pixel; read and written as three rows of four numbers. */
typedef struct {
    float sky[3];     /* linear brightness by the surroundings */
    float share;      /* of the pixel */
    float sun[3];     /* by the sun, where nothing is in its way */
    float right;      /* change of the distance along the light from a texel to the next, along a row */
    float place[3];   /* column and row in the shadow map, distance along the light [m] */
    float down;       /* as `right`, along a column */
} Facet;

#define MAX_FACETS 3 /* in a pixel */

/* Nearest triangles of samples. */
typedef struct {
    float *near, *kept_near;   /* inverse distances to the image plane [1/m] */
    int32_t *face, *kept_face; /* numbers of triangles; -1: none; and one more, which is read but not used */
} Layer;

/* The picture of one camera. Samples are a grid: the centres of pixels, with 4 samples a pixel also the middles between
 * them. `kept_` values are those of all that stands still; they are valid while `is_kept`. */
typedef struct {
    int32_t width, height, samples_along; /* samples_along: 1 or 2 */
    int32_t is_kept, keeps;               /* keeps: whether to keep what stands still for the next picture */
    int32_t has_clear;                    /* whether `layers[1]` is used, which has what one can see through */
    double fx, fy, cx, cy, near, far;
    double T_camera_world[12];
    Layer layers[2];
    Facet* facets;                                /* (2 MAX_FACETS height width,) */
    int32_t *first, *kept_first;                  /* (height, width) place of a pixel's first facet */
    uint8_t *count, *kept_count;                  /* (height, width) */
    float *depth, *kept_depth;                    /* (height, width) 0: nothing */
    float *normals, *kept_normals;                /* (height, width, 3) camera frame, towards it */
    float *taken, *kept_taken;                    /* (height, width) share of the sky's light that others take, noisy */
    uint8_t *rgb, *kept_rgb;                      /* (height, width, 3) */
    float* kept_bounds; /* (height / 16, width / 16, 4), rounded up: least and largest place of a block in the shadow map */
    const float* background;                      /* (height, 3) linear */
    int32_t n_kept;                               /* facets of what stands still */
    int32_t is_fine; /* whether more is looked at for darkened corners */
    Rect drawn; /* samples in which something moves */
    Rect clear; /* samples of layers[1] that may not be empty */
    float cleared, unused; /* distance that its other samples have, as in `near`; 0: not cleared yet */
} View;

#endif
