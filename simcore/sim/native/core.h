/* What Python and the core share: the state of bodies, what acts on joints beside their motors, and contacts.
 * `unlatch/simcore/sim/core.py` declares the same structures, and checks their sizes when it loads the core. */
#ifndef UNLATCH_CORE_H
#define UNLATCH_CORE_H

#include <stdint.h>

#include "bullet.h"

#define MAX_JOINTS 96  /* movable joints of a body; Bullet's own limit is 128 degrees of freedom */
#define MAX_COORDINATES 128 /* of a body, with 7 of its root: Bullet's limit */
#define MAX_LINKS 129       /* of a body, with its root: the same */
#define MAX_VIEWS 64   /* contact views of a world: one bit each */
#define MAX_SERVO 32   /* joints with impedance control together */

/* What acts on a joint: bits of Mechanism.kinds. */
enum { SPRING = 1, EFFORT = 2, STOP = 4, COUNTERBALANCE = 8, SPEED_LIMIT = 16, SLIDING_ARMATURE = 32 };

/* What acts on one movable joint at every physics step, beside its motor [N m or N, rad or m, s]. */
typedef struct {
    int32_t kinds;
    int32_t is_held;   /* whether its motor holds it at `held_at` with no more than its friction */
    int32_t is_braked; /* whether its motor brakes it near its closed stop; only the core writes it */
    int32_t is_gated;  /* whether its motor serves a gate: 1 to brake, 2 to hold; only the core writes it */
    double friction;
    double held_at;
    double spring_target, spring_stiffness, spring_damping, spring_limit;
    double effort;
    double stop_closed, stop_sign, stop_reach; /* see ClosedStop of joint_mechanisms.py */
    double catch_effort, enter_effort, catch_reach;
    double gasket_effort, gasket_reach;
    double drawing_speed;
    double counterbalance;
    double speed_limit;
    double armature_mass;
} Mechanism;

/* What a gate does: bits of Gate.kinds. */
enum {
    THRESHOLD = 1,   /* holds a joint that is closed, while the condition does not hold */
    FREEZE = 2,      /* holds a joint where it is, while the condition does not hold */
    TOGGLE = 4,      /* holds a joint that is closed, until it is pressed beyond closed; pressed again, it holds again */
    KEEPS_OUT = 8,   /* with THRESHOLD: holds an open joint outside, too */
    ONE_WAY = 16,    /* with FREEZE: the joint always closes */
    EITHER_WAY = 32, /* the condition is about the distance of `by` from its rest in either direction */
    PUSH = 64,       /* a spring pushes the joint open to `reach` */
    PULL = 128,      /* a spring pulls the joint closed from `reach` on */
    DETENT = 256,    /* a spring draws the joint to `closed` from `reach` on, on both sides */
    BOTH_SIDES = 512 /* with THRESHOLD and PULL: the joint goes beyond closed, and is held or pulled there, too */
};

/* A mechanism between joints of a body, or a spring with a profile: see joint_gates.py. The opening of its joint is
 * sign * (q - closed). */
typedef struct {
    int32_t kinds;
    int32_t row, by;   /* the joint that it acts on; the one that decides, -1: none */
    int32_t is_inside; /* whether the joint is closed, or the toggle is shut; -1: not known yet */
    int32_t is_held;   /* whether it holds the joint now */
    int32_t is_ready;  /* with TOGGLE: whether the joint has come back since it was pressed last */
    double closed, sign, play;
    double rest, by_sign, low, high; /* the condition holds while by_sign * (q_by - rest) is between low and high */
    double strength;        /* largest effort with which it holds the joint */
    double press;
    double effort, reach;   /* of a spring */
    double speed, brake;    /* speed above which it brakes the joint, and the largest effort of this */
    double held_at;         /* with FREEZE: opening at which it holds the joint */
    double borne;           /* largest effort with which it held the joint since `begin_frame` */
} Gate;

/* Joint impedance control of the joints of an arm, see ImpedanceServo of impedance.py, and its targets, see TargetSpline
 * and ArmSignals of arm_control.py. Matrices are row-major. */
typedef struct {
    int32_t n, n_armatures, n_axes;
    int32_t step, frame_steps; /* number of the next physics step in its record frame; steps in a frame */
    int32_t late_steps, is_dropped;
    int32_t n_sent, most_sent; /* number of commands so far; places in `sent` */
    int32_t has_arrived;       /* whether any command has arrived */
    int32_t is_ready;          /* whether the command of the next step has arrived */
    int32_t is_told;           /* whether the fingers' motors have the targets for the next step */
    int32_t repeats_fingers;   /* whether they must get them in every step */
    int32_t unused;
    double frame_s;            /* length of a record frame [s] */
    double opening;            /* opening of the gripper in the action [m] */
    double told_opening;       /* the one that the fingers' motors were told [m] */
    const int32_t* rows;       /* (n,) rows of its joints among the movable joints of the body */
    const double* points;      /* (4, n) control points of the spline of this frame */
    const double* offsets;     /* (n,) errors of the encoders */
    double* sent;              /* (most_sent, 3 n + 1) commands: positions, velocities, accelerations, opening */
    double* arrived;           /* (3 n + 1,) the command that the motors follow */
    const double *stiffness, *root_of_ratio, *limits; /* (n,) */
    double *M, *K, *D;                                /* (n, n) */
    double* inertia_at;                               /* (n,) joint positions for which M was computed */
    double *torque, *torque_sum;                      /* (n,) of the last step, and over the steps of a frame */
    const int32_t* axis_links;    /* (n_axes,) links of joints: first its own n joints */
    const double* axes;           /* (n_axes, 3) axis of each in the frame of its link */
    const int32_t* armature_axes; /* (n_armatures,) rows in `axes` */
    const double *armatures, *moves; /* (n_armatures,); (n_armatures, n) 1 where a joint moves it, else 0 */
} Servo;

enum { WITHOUT_LINKS = 1, WITH_LINKS = 2 };

typedef struct {
    int32_t id, n_joints, n_links, n_servos, n_gates;
    int32_t is_known; /* whether the state below is that of now: 0, WITHOUT_LINKS or WITH_LINKS */
    int32_t fastest;  /* row of the joint that was fastest since `begin_frame` */
    int32_t unused;
    double max_speed; /* its speed [rad/s or m/s] */
    const int32_t *joints, *q_index, *u_index; /* (n_joints,) Bullet's numbers */
    double *q, *dq, *effort;                   /* (n_joints,) effort: of the motor, or of impedance control */
    double* root;  /* (13,) centre of mass: position, quaternion xyzw, linear and angular velocity, world frame */
    double* after; /* (2 n_joints + 7,) positions, velocities, position and quaternion of `root` after the last step */
    double* links; /* (n_links, 7) link frames: position, quaternion xyzw, world frame */
    Mechanism* mechanisms; /* (n_joints,) */
    Servo** servos;        /* (n_servos,) */
    Gate* gates;           /* (n_gates,) */
} BodyState;

/* The forces between two links in one physics step. */
typedef struct {
    int32_t step, body_a, body_b, link_a, link_b, contact;
    double normal_n;
    double force_n[3]; /* of normal forces and friction, on the first body, world frame */
} ForceRow;

/* Which views and fingers a contact of two links belongs to, and what they measured in the steps of a run. */
typedef struct {
    int32_t n_contacts, n_pairs, n_views, n_fingers, n_sums, n_steps;
    const int32_t* contacts;     /* (n_contacts, 4) bodies and links */
    const int32_t* pairs_of;     /* (n_contacts, 2) pairs of link names that views see; -1: none */
    const int32_t* sums_of;      /* (n_contacts, 2) sums that its force is added to; -1: none */
    const double* signs;         /* (n_contacts, 2) */
    const uint64_t* views_of;    /* (n_pairs,) bits of views */
    const int32_t* finger_of;    /* (n_sums,) finger of a sum: of the forces of one link on one finger */
    double* pair_force;          /* (n_steps, n_pairs) normal force; -1: no contact */
    double* view_force;          /* (n_steps, n_views) largest of a pair */
    double* finger_force;        /* (n_steps, n_fingers) see FingerLoads of contacts.py */
} Contacts;

/* A point at which two links touch or are near each other. */
typedef struct {
    int32_t body_a, body_b, link_a, link_b;
    int32_t is_contact; /* a contact of the engine, or else the closest points of a query */
    int32_t unused;
    double distance;
    double place[3]; /* on the first body, world frame */
} NearPoint;

/* A configuration whose clearance is asked for. */
typedef struct {
    BodyState *body, *part;    /* what moves, and a body with a part that moves */
    int32_t n_q, n_s;          /* numbers of joints that are set */
    int32_t n_others, unused;
    const int32_t *rows, *part_rows; /* (n_q,) and (n_s,) */
    const double *q, *s;             /* (n_q,) and (n_s,) their positions */
    const int32_t* others; /* (n_others,) Bullet's numbers of the bodies to which distances are measured */
    double distance;       /* below 0: none are measured */
} NearQuery;

typedef struct {
    Client client;
    int32_t n_bodies, n_rows, most_rows;
    int32_t is_timed; /* whether `spent` is measured */
    BodyState** bodies;
    ForceRow* rows; /* of the steps of the last run; the core allocates them */
    double gravity[3];
    double dt;
    double spent[4]; /* CPU time of motor targets, Bullet's steps, states and contacts [s] */
    NearPoint* near; /* of the last core_find_near, which allocates them */
    int32_t n_near, most_near;
} CoreWorld;

enum { MOTORS, PHYSICS, STATES, CONTACTS };

/* Errors that functions return, below 0. */
enum { BULLET_FAILED = -1, NO_MASS_MATRIX = -2, NOT_POSITIVE_DEFINITE = -3, NO_MEMORY = -4, UNKNOWN_CONTACT = 1 };

#endif
