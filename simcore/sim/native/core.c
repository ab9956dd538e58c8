/* The physics loop: everything that happens at every physics step.
 *
 * One call runs the physics steps of a frame: torques of impedance control, springs, catches and gaskets, the step of
 * Bullet, and what must be known of it afterwards: joints, contacts, largest speeds. Sums are in a fixed order and are
 * not contracted (-ffp-contract=off), so that every compiler gives the same bits. */
#include "core.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(result, name, parameters) static result(*name) parameters;
BULLET_FUNCTIONS(DECLARE)
#undef DECLARE

static Client last_client;

/* Finds the functions of Bullet in PyBullet's module, which is loaded; returns how many are missing. */
EXPORT int core_bind(const char* pybullet_path) {
    void* module = dlopen(pybullet_path, RTLD_NOW | RTLD_NOLOAD);
    int missing = 0;
    if (!module) return -1;
#define BIND(result, name, parameters) missing += !(*(void**)&name = dlsym(module, #name));
    BULLET_FUNCTIONS(BIND)
#undef BIND
    return missing;
}

/* Bullet calls these three when a client loads the core as a plugin: it hands over the client. */
EXPORT int initPlugin_unlatch(struct b3PluginContext* context) {
    last_client = context->m_physClient;
    return BULLET_VERSION;
}
EXPORT void exitPlugin_unlatch(struct b3PluginContext* context) { (void)context; }
EXPORT int executePluginCommand_unlatch(struct b3PluginContext* context, const void* arguments) {
    (void)context, (void)arguments;
    return 0;
}

EXPORT Client core_last_client(void) { return last_client; }

/* SHA-256 of the sources of this library, or nothing if whoever compiled it did not say. */
#ifndef SOURCES_SHA256
#define SOURCES_SHA256 ""
#endif
EXPORT const char* core_sources(void) { return SOURCES_SHA256; }

/* Sizes of structures, and limits, that Python compares with its own. */
EXPORT void core_sizes(int32_t* sizes) {
    const int32_t found[] = {sizeof(Mechanism), sizeof(Servo), sizeof(BodyState), sizeof(ForceRow), sizeof(Contacts),
                             sizeof(CoreWorld), MAX_JOINTS, MAX_SERVO,         MAX_VIEWS,        sizeof(Gate),
                             sizeof(NearPoint),  sizeof(NearQuery)};
    memcpy(sizes, found, sizeof found);
}

static Status submit(const CoreWorld* world, Command command) {
    return b3SubmitClientCommandAndWaitStatus(world->client, command);
}

/* ---- state ---- */

/* Reads a body. The frames of its links are read only `with_links`: in the middle of a frame nobody needs them. */
static int read_body(const CoreWorld* world, BodyState* body, int with_links) {
    Command command = b3RequestActualStateCommandInit(world->client, body->id);
    const double *frame, *q, *dq, *reactions, *local, *efforts, *states, *velocities;
    int id, n_links, n_q, n_u;
    if (with_links) b3RequestActualStateCommandComputeForwardKinematics(command, 1);
    Status status = submit(world, command);
    if (!status || !b3GetStatusActualState2(status, &id, &n_links, &n_q, &n_u, &frame, &q, &dq, &reactions, &local,
                                            &efforts, &states, &velocities))
        return BULLET_FAILED;
    for (int row = 0; row < body->n_joints; row++) {
        body->q[row] = q[body->q_index[row]];
        body->dq[row] = dq[body->u_index[row]];
        body->effort[row] = efforts[body->joints[row]];
    }
    for (int s = 0; s < body->n_servos; s++) /* Bullet does not report these torques */
        for (int i = 0; i < body->servos[s]->n; i++) body->effort[body->servos[s]->rows[i]] = body->servos[s]->torque[i];
    memcpy(body->root, q, 7 * sizeof *q);
    memcpy(body->root + 7, dq, 6 * sizeof *dq);
    for (int link = 0; with_links && link < body->n_links; link++) {
        struct b3LinkState state;
        if (!b3GetLinkState(world->client, status, link, &state)) return BULLET_FAILED;
        memcpy(body->links + 7 * link, state.m_worldLinkFramePosition, sizeof state.m_worldLinkFramePosition);
        memcpy(body->links + 7 * link + 3, state.m_worldLinkFrameOrientation, sizeof state.m_worldLinkFrameOrientation);
    }
    body->is_known = with_links ? WITH_LINKS : WITHOUT_LINKS;
    return 0;
}

/* Reads a body with the frames of its links, unless they are known. */
EXPORT int core_read(const CoreWorld* world, BodyState* body) {
    return body->is_known == WITH_LINKS ? 0 : read_body(world, body, 1);
}

static int same(const double* a, const double* b, int n) { return memcmp(a, b, n * sizeof *a) == 0; }

/* Keeps what a body was like after a step: see core_find_moved. */
static void note_state(BodyState* body) {
    int n = body->n_joints;
    memcpy(body->after, body->q, n * sizeof(double));
    memcpy(body->after + n, body->dq, n * sizeof(double));
    memcpy(body->after + 2 * n, body->root, 7 * sizeof(double));
}

/* Reads all bodies anew. Returns the place of the first one that has moved since the last step; -1: none has. */
EXPORT int core_find_moved(const CoreWorld* world) {
    for (int b = 0; b < world->n_bodies; b++) {
        BodyState* body = world->bodies[b];
        int n = body->n_joints, was_known = body->is_known;
        if (read_body(world, body, 0) < 0) return b;
        if (!same(body->after, body->q, n) || !same(body->after + n, body->dq, n) ||
            !same(body->after + 2 * n, body->root, 7))
            return b;
        if (was_known == WITH_LINKS) body->is_known = WITH_LINKS; /* links are where they were, as joints are */
    }
    return -1;
}

/* Rotation (3, 3) of a quaternion xyzw, as matrix_from_quat_xyzw of geometry.py. */
static void rotation_of(const double* quat, double* R) {
    double length = sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
    double x = quat[0] / length, y = quat[1] / length, z = quat[2] / length, w = quat[3] / length;
    R[0] = 1.0 - 2.0 * (y * y + z * z), R[1] = 2.0 * (x * y - z * w), R[2] = 2.0 * (x * z + y * w);
    R[3] = 2.0 * (x * y + z * w), R[4] = 1.0 - 2.0 * (x * x + z * z), R[5] = 2.0 * (y * z - x * w);
    R[6] = 2.0 * (x * z - y * w), R[7] = 2.0 * (y * z + x * w), R[8] = 1.0 - 2.0 * (x * x + y * y);
}

static void rotate(const double* R, const double* v, double* out) {
    for (int i = 0; i < 3; i++) out[i] = R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
}

/* Unit quaternion xyzw, w >= 0, of a rotation (3, 3), as quat_xyzw_from_matrix of geometry.py. */
static void quaternion_of(const double* R, double* quat) {
    double trace = R[0] + R[4] + R[8], most = R[0];
    int k = 0;
    if (R[4] > most) most = R[4], k = 1;
    if (R[8] > most) most = R[8], k = 2;
    if (trace > most) {
        quat[0] = R[7] - R[5], quat[1] = R[2] - R[6], quat[2] = R[3] - R[1], quat[3] = 1.0 + trace;
    } else {
        int i = k, j = (k + 1) % 3, l = (k + 2) % 3;
        quat[i] = 1.0 + R[4 * i] - R[4 * j] - R[4 * l];
        quat[j] = R[3 * j + i] + R[3 * i + j];
        quat[l] = R[3 * l + i] + R[3 * i + l];
        quat[3] = R[3 * l + j] - R[3 * j + l];
    }
    double length = sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
    if (quat[3] < 0.0) length = -length;
    for (int i = 0; i < 4; i++) quat[i] /= length;
}

/* Writes orientation (4,) and the place (3,) of a point of a link's frame, world frame. */
EXPORT void core_place_point(const BodyState* body, int link, const double* point, double* out) {
    const double* frame = body->links + 7 * link;
    double R[9];
    rotation_of(frame + 3, R);
    quaternion_of(R, out);
    rotate(R, point, out + 4);
    for (int i = 0; i < 3; i++) out[4 + i] += frame[i];
}

/* Begins a record frame: the largest speeds and the sums of torques are those from here on. */
EXPORT void core_begin_frame(const CoreWorld* world) {
    for (int b = 0; b < world->n_bodies; b++) {
        BodyState* body = world->bodies[b];
        body->max_speed = 0.0, body->fastest = 0;
        for (int g = 0; g < body->n_gates; g++) body->gates[g].borne = 0.0;
        for (int s = 0; s < body->n_servos; s++)
            memset(body->servos[s]->torque_sum, 0, body->servos[s]->n * sizeof(double));
    }
}

/* ---- motors ---- */

static void set_velocity_motor(const CoreWorld* world, const BodyState* body, int row, double velocity, double effort) {
    Command command = b3JointControlCommandInit2(world->client, body->id, CONTROL_VELOCITY);
    int u = body->u_index[row];
    b3JointControlSetDesiredVelocity(command, u, velocity);
    b3JointControlSetKd(command, u, 1.0);
    b3JointControlSetMaximumForce(command, u, effort);
    submit(world, command);
}

/* Gives the motor of a joint without servo to its friction, or to what holds it. */
static void restore_friction(const CoreWorld* world, const BodyState* body, int row) {
    const Mechanism* mechanism = body->mechanisms + row;
    if (!mechanism->is_held) {
        set_velocity_motor(world, body, row, 0.0, mechanism->friction);
        return;
    }
    Command command = b3JointControlCommandInit2(world->client, body->id, CONTROL_POSITION);
    int u = body->u_index[row];
    b3JointControlSetDesiredPosition(command, body->q_index[row], mechanism->held_at);
    b3JointControlSetKp(command, u, 0.15); /* as DriveGroup.hold: share of the error that is removed in one step */
    b3JointControlSetDesiredVelocity(command, u, 0.0);
    b3JointControlSetKd(command, u, 1.0);
    b3JointControlSetMaximumForce(command, u, mechanism->friction);
    submit(world, command);
}

/* See catch_force of closing_profile.py. */
static double catch_force(double opening, double leave, double enter, double reach) {
    if (opening <= 0.0 || reach <= 0.0) return opening <= 0.0 ? leave : 0.0;
    double share = opening / reach;
    if (share < 1.0) return leave * 0.5 * (1.0 + cos(M_PI * share));
    double wave = sin(M_PI * (share - 1.0));
    return share < 2.0 ? -enter * (wave * wave) : 0.0;
}

/* Applies catch and gasket; returns their effort, or 0 where the motor brakes instead, which is always stable. */
static double stop_effort(const CoreWorld* world, const BodyState* body, int row) {
    Mechanism* m = body->mechanisms + row;
    double opening = m->stop_sign * (body->q[row] - m->stop_closed), effort = 0.0;
    if (opening < m->stop_reach) {
        double total = catch_force(opening, m->catch_effort, m->enter_effort, m->catch_reach);
        total += catch_force(opening, m->gasket_effort, 0.0, m->gasket_reach);
        effort = -m->stop_sign * total;
    }
    if (effort * m->stop_sign < 0.0 && -m->stop_sign * body->dq[row] > m->drawing_speed) {
        m->is_braked = 1;
        set_velocity_motor(world, body, row, -m->stop_sign * m->drawing_speed, fabs(effort) + m->friction);
        return 0.0;
    }
    if (m->is_braked) {
        m->is_braked = 0;
        restore_friction(world, body, row);
    }
    return effort;
}

static double clip(double value, double most) { return value > most ? most : value < -most ? -most : value; }

/* Writes into `torques` what mechanisms apply to the joints of a body. */
static void apply_mechanisms(const CoreWorld* world, const BodyState* body, double* torques) {
    for (int row = 0; row < body->n_joints; row++) {
        const Mechanism* m = body->mechanisms + row;
        double q = body->q[row], dq = body->dq[row], torque = 0.0;
        if (m->kinds & SPRING)
            torque += clip(m->spring_stiffness * (m->spring_target - q) - m->spring_damping * dq, m->spring_limit);
        if (m->kinds & EFFORT) torque += m->effort;
        if (m->kinds & STOP) torque += stop_effort(world, body, row);
        if (m->kinds & COUNTERBALANCE) torque += m->counterbalance * cos(q);
        if (m->kinds & SPEED_LIMIT) {
            if (fabs(dq) > m->speed_limit) /* with a practically unlimited effort */
                set_velocity_motor(world, body, row, copysign(m->speed_limit, dq), 1e5);
            else
                restore_friction(world, body, row);
        }
        torques[row] = torque;
    }
}

/* ---- gates ---- */

static double opening_of(const BodyState* body, const Gate* gate) {
    return gate->sign * (body->q[gate->row] - gate->closed);
}

/* How far the joint of a gate is from closed; negative beyond closed, unless the gate acts on both sides. */
static double distance_of(const BodyState* body, const Gate* gate) {
    double opening = opening_of(body, gate);
    return gate->kinds & BOTH_SIDES ? fabs(opening) : opening;
}

/* Whether the condition of a gate holds. */
static int is_freed(const BodyState* body, const Gate* gate) {
    if (gate->by < 0) return 0;
    double value = gate->by_sign * (body->q[gate->by] - gate->rest);
    if (gate->kinds & EITHER_WAY) value = fabs(value);
    return value >= gate->low && value <= gate->high;
}

/* Share of `press` that counts as pressed: a joint that is pressed against its limit ends a little before it. */
#define PRESSED 0.9

/* Updates what a gate holds: from the openings alone if it is not known yet, else from what it was before. */
static void update_gate(const BodyState* body, Gate* gate) {
    double opening = distance_of(body, gate);
    int is_new = gate->is_inside < 0, freed = is_freed(body, gate);
    if (is_new) gate->is_inside = opening <= gate->play, gate->is_ready = 1, gate->is_held = 0;
    if (gate->kinds & TOGGLE) {
        if (gate->is_ready && opening <= -PRESSED * gate->press) gate->is_inside = !gate->is_inside, gate->is_ready = 0;
        if (opening > -0.5 * gate->press) gate->is_ready = 1;
        gate->is_held = gate->is_inside;
    } else if (gate->kinds & THRESHOLD) {
        if (gate->is_inside && freed && opening > gate->play) gate->is_inside = 0;
        if (!gate->is_inside && opening <= gate->play && (freed || !(gate->kinds & KEEPS_OUT))) gate->is_inside = 1;
        gate->is_held = !freed && (gate->is_inside || gate->kinds & KEEPS_OUT);
    } else if (gate->kinds & FREEZE) {
        if (freed || !gate->is_held || (gate->kinds & ONE_WAY && opening < gate->held_at)) gate->held_at = opening;
        gate->is_held = !freed;
    }
}

/* Lets gates whose state is not known find it from the positions. */
EXPORT int core_settle_gates(const CoreWorld* world, BodyState* body) {
    if (!body->is_known && read_body(world, body, 0) < 0) return BULLET_FAILED;
    for (int g = 0; g < body->n_gates; g++)
        if (body->gates[g].is_inside < 0) update_gate(body, body->gates + g);
    return 0;
}

/* What gates ask of the motor of a joint; a wall goes before a brake. */
typedef struct {
    int is_wall, is_asked;
    double velocity, effort;
    double way; /* towards the wall: 1 or -1 */
} Request;

/* Share of the way beyond a wall that is removed in one step: as DriveGroup.hold. */
#define REMOVED 0.15

/* Asks the motor to stop the joint at a wall, if it would pass it in this step: a motor is a constraint of Bullet's
 * solver, so it is stable however strong it is. `side` is 1 where the joint must stay below, else -1. A motor acts both
 * ways and a wall does not: it goes on only while its effort in the last step was away from the wall, and lets go where
 * it was towards the wall, which is what keeps a joint from leaving it. */
static void ask_wall(const CoreWorld* world, const BodyState* body, const Gate* gate, double wall, double side, Request* request) {
    double way = side * gate->sign; /* towards the wall */
    double left = side * (wall - opening_of(body, gate)), speed = way * body->dq[gate->row];
    double allowed = (left > 0.0 ? left : REMOVED * left) / world->dt;
    double effort = body->mechanisms[gate->row].is_gated == 2 ? way * body->effort[gate->row] : 0.0;
    if (effort > 0.0 || (speed <= allowed && effort == 0.0)) return;
    if (request->is_wall && request->way == way && way * request->velocity < allowed) allowed = way * request->velocity;
    double strength = request->is_wall && request->effort > gate->strength ? request->effort : gate->strength;
    *request = (Request){1, 1, way * allowed, strength, way}; /* of several walls the nearest counts, and the strongest gate */
}

/* Returns the effort of the spring of a gate, or asks the motor to brake the joint instead. */
static double spring_effort(const BodyState* body, const Gate* gate, Request* request) {
    double opening = opening_of(body, gate), sign = gate->sign, near = 1.0, effort = 0.0;
    if (gate->kinds & DETENT) {
        return fabs(opening) < gate->reach ? -gate->sign * gate->effort * sin(M_PI * opening / gate->reach) : 0.0;
    }
    if (gate->kinds & BOTH_SIDES && opening < 0.0) {
        if (gate->kinds & PUSH && opening < -gate->play) return 0.0;
        if (gate->kinds & PULL) opening = -opening, sign = -sign;
    }
    if (opening >= gate->reach) return 0.0;
    if (gate->kinds & PUSH)
        effort = gate->effort * (1.0 - opening / gate->reach);
    else if (gate->kinds & PULL) { /* constant, but over the last fifth of its reach, and between two sides within `play` */
        double left = 5.0 * (1.0 - opening / gate->reach);
        if (gate->kinds & BOTH_SIDES && opening < gate->play) near = opening / gate->play;
        effort = -gate->effort * near * (left < 1.0 ? left : 1.0);
    }
    double way = effort > 0.0 ? sign : -sign;
    double most = gate->kinds & PUSH ? gate->speed * (1.0 - opening / gate->reach) : gate->speed * near; /* a push ends at `reach` */
    if (effort != 0.0 && way * body->dq[gate->row] > most) {
        int is_slower = request->is_asked && fabs(request->velocity) < most;
        if (!request->is_wall && !is_slower)
            *request = (Request){0, 1, way * most, gate->brake + body->mechanisms[gate->row].friction, way};
        return 0.0;
    }
    return sign * effort;
}

/* Adds to `torques` what gates apply to the joints of a body, and lets motors hold and brake. */
static void apply_gates(const CoreWorld* world, BodyState* body, double* torques) {
    Request requests[MAX_JOINTS];
    for (int row = 0; row < body->n_joints; row++) requests[row] = (Request){0, 0, 0.0, 0.0, 0.0};
    for (int g = 0; g < body->n_gates; g++) {
        Gate* gate = body->gates + g;
        Request* request = requests + gate->row;
        update_gate(body, gate);
        if (gate->is_held && gate->kinds & FREEZE) {
            ask_wall(world, body, gate, gate->held_at + gate->play, 1.0, request);
            if (!(gate->kinds & ONE_WAY)) ask_wall(world, body, gate, gate->held_at - gate->play, -1.0, request);
        } else if (gate->is_held) {
            double out = gate->kinds & BOTH_SIDES && opening_of(body, gate) < 0.0 ? -1.0 : 1.0; /* the side it is on */
            ask_wall(world, body, gate, out * gate->play, gate->is_inside ? out : -out, request);
        }
        torques[gate->row] += spring_effort(body, gate, request);
    }
    for (int row = 0; row < body->n_joints; row++) {
        Mechanism* m = body->mechanisms + row;
        if (requests[row].is_asked)
            set_velocity_motor(world, body, row, requests[row].velocity, requests[row].effort);
        else if (m->is_gated && !m->is_braked)
            restore_friction(world, body, row);
        m->is_gated = requests[row].is_asked ? 1 + requests[row].is_wall : 0;
    }
}

/* Notes with which efforts gates held joints in the last step. */
static void note_borne(BodyState* body) {
    for (int g = 0; g < body->n_gates; g++) {
        Gate* gate = body->gates + g;
        double borne = fabs(body->effort[gate->row]);
        if (gate->is_held && body->mechanisms[gate->row].is_gated == 2 && borne > gate->borne) gate->borne = borne;
    }
}

/* Balances the weight of sliding armatures: they have inertia along the joint, but no weight. */
static void balance_armatures(const CoreWorld* world, const BodyState* body) {
    for (int row = 0; row < body->n_joints; row++) {
        const Mechanism* m = body->mechanisms + row;
        if (!(m->kinds & SLIDING_ARMATURE)) continue;
        struct b3LinkState state;
        Status status = submit(world, b3RequestActualStateCommandInit(world->client, body->id));
        if (!status || !b3GetLinkState(world->client, status, body->joints[row], &state)) continue;
        double weight[3];
        for (int i = 0; i < 3; i++) weight[i] = -m->armature_mass * world->gravity[i];
        Command command = b3ApplyExternalForceCommandInit(world->client);
        b3ApplyExternalForce(command, body->id, body->joints[row], weight, state.m_worldPosition, FORCE_IN_WORLD_FRAME);
        submit(world, command);
    }
}

/* Writes the command of the next step: a cubic B-spline through the last actions, and the opening. Its accelerations are
 * continuous: a quadratic one has them in steps, which need torques that jump. */
static void write_command(const Servo* servo, double* command) {
    int n = servo->n, last = servo->frame_steps - 1;
    double share = (double)(servo->step < last ? servo->step : last) / servo->frame_steps;
    for (int i = 0; i < n; i++) {
        const double *first = servo->points + i, *second = first + n, *third = second + n, *fourth = third + n;
        double before = *second - *first, after = *third - *second, change = after - before;
        double rise = ((*fourth - *third) - after) - change; /* of `change`, from this frame to the next one */
        double speed = 0.5 * (before + after), start = *second + change / 6.0;
        command[i] = start + share * (speed + share * (0.5 * change + share * (rise / 6.0)));
        command[n + i] = (speed + share * (change + share * (0.5 * rise))) / servo->frame_s;
        command[2 * n + i] = (change + share * rise) / (servo->frame_s * servo->frame_s);
    }
    command[3 * n] = servo->opening;
}

/* Sends the command of the next step, and lets the one arrive that is due: commands may be late or get lost. */
EXPORT void core_transmit(Servo* servo) {
    int size = 3 * servo->n + 1;
    write_command(servo, servo->sent + (servo->n_sent % servo->most_sent) * size);
    servo->n_sent++, servo->step++;
    if (!servo->is_dropped || !servo->has_arrived) {
        int due = servo->n_sent - 1 - servo->late_steps, oldest = servo->n_sent - servo->most_sent;
        oldest = oldest > 0 ? oldest : 0;
        memcpy(servo->arrived, servo->sent + ((due > oldest ? due : oldest) % servo->most_sent) * size,
               size * sizeof(double));
        servo->has_arrived = 1;
    }
    servo->is_ready = 1;
    servo->is_told = !servo->repeats_fingers && servo->arrived[3 * servo->n] == servo->told_opening;
}

/* Lets the commands of the next step arrive. Returns whether the fingers of all arms have their targets. */
static int receive_commands(const CoreWorld* world) {
    int are_told = 1;
    for (int b = 0; b < world->n_bodies; b++)
        for (int s = 0; s < world->bodies[b]->n_servos; s++) {
            Servo* servo = world->bodies[b]->servos[s];
            if (!servo->is_ready) core_transmit(servo);
            are_told &= servo->is_told;
        }
    return are_told;
}

/* Adds the torques of impedance control to `torques`; `bias` are those of gravity and Coriolis forces. */
static void apply_servo(const BodyState* body, Servo* servo, const double* bias, double* torques) {
    int n = servo->n;
    const double *wanted = servo->arrived, *speed = wanted + n, *acceleration = speed + n;
    double e[MAX_SERVO], de[MAX_SERVO];
    for (int i = 0; i < n; i++) {
        e[i] = (wanted[i] - servo->offsets[i]) - body->q[servo->rows[i]];
        de[i] = speed[i] - body->dq[servo->rows[i]];
    }
    for (int i = 0; i < n; i++) {
        double spring = 0.0, damper = 0.0, inertia = 0.0;
        for (int j = 0; j < n; j++) {
            spring += servo->K[i * n + j] * e[j];
            damper += servo->D[i * n + j] * de[j];
            inertia += servo->M[i * n + j] * acceleration[j];
        }
        int row = servo->rows[i];
        const Mechanism* m = body->mechanisms + row;
        double balanced = m->kinds & COUNTERBALANCE ? m->counterbalance * cos(body->q[row]) : 0.0; /* `torques` has it */
        double torque = clip(spring + damper + inertia + bias[row] - balanced, servo->limits[i]);
        servo->torque[i] = torque;
        servo->torque_sum[i] += torque;
        torques[row] += torque;
    }
    servo->is_ready = 0;
}

/* Sets the torques of all joints of a body for the next step. */
static int apply_torques(const CoreWorld* world, BodyState* body) {
    double torques[MAX_JOINTS], bias[MAX_JOINTS], still[MAX_JOINTS] = {0.0};
    int n = body->n_joints, acts = 0;
    for (int row = 0; row < n; row++) acts |= body->mechanisms[row].kinds;
    if (!acts && !body->n_servos && !body->n_gates) return 0;
    apply_mechanisms(world, body, torques);
    if (body->n_gates) apply_gates(world, body, torques);
    if (body->n_servos) {
        Status status = submit(world, b3CalculateInverseDynamicsCommandInit2(world->client, body->id, body->q, n,
                                                                             body->dq, still, n));
        int id, count;
        if (!status || !b3GetStatusInverseDynamicsJointForces(status, &id, &count, bias)) return BULLET_FAILED;
        for (int s = 0; s < body->n_servos; s++) apply_servo(body, body->servos[s], bias, torques);
    }
    Command command = b3JointControlCommandInit2(world->client, body->id, CONTROL_TORQUE);
    for (int row = 0; row < n; row++)
        if (torques[row] != 0.0) b3JointControlSetDesiredForceTorque(command, body->u_index[row], torques[row]);
    submit(world, command);
    if (acts & SLIDING_ARMATURE) balance_armatures(world, body);
    return 0;
}

/* ---- contacts ---- */

/* Adds the contacts of a step to the rows, one for each pair of links. */
static int read_contacts(CoreWorld* world, int step) {
    struct b3ContactInformation found;
    if (!submit(world, b3InitRequestContactPointInformation(world->client))) return BULLET_FAILED;
    b3GetContactPointInformation(world->client, &found);
    int first = world->n_rows;
    for (int k = 0; k < found.m_numContactPoints; k++) {
        const struct b3ContactPointData* point = found.m_contactPointData + k;
        int at = first;
        for (; at < world->n_rows; at++) {
            const ForceRow* row = world->rows + at;
            if (row->body_a == point->m_bodyUniqueIdA && row->body_b == point->m_bodyUniqueIdB &&
                row->link_a == point->m_linkIndexA && row->link_b == point->m_linkIndexB)
                break;
        }
        if (at == world->n_rows) {
            if (at == world->most_rows) {
                int most = at ? 2 * at : 256;
                ForceRow* grown = realloc(world->rows, most * sizeof *grown);
                if (!grown) return NO_MEMORY;
                world->rows = grown, world->most_rows = most;
            }
            world->rows[world->n_rows++] = (ForceRow){step, point->m_bodyUniqueIdA, point->m_bodyUniqueIdB,
                                                      point->m_linkIndexA, point->m_linkIndexB, -1, 0.0, {0.0}};
        }
        ForceRow* row = world->rows + at;
        row->normal_n += point->m_normalForce;
        for (int i = 0; i < 3; i++) {
            row->force_n[i] += point->m_normalForce * point->m_contactNormalOnBInWS[i];
            row->force_n[i] += point->m_linearFrictionForce1 * point->m_linearFrictionDirection1[i];
            row->force_n[i] += point->m_linearFrictionForce2 * point->m_linearFrictionDirection2[i];
        }
    }
    return 0;
}

EXPORT void core_free_rows(CoreWorld* world) {
    free(world->rows);
    free(world->near);
    world->rows = NULL, world->n_rows = world->most_rows = 0;
    world->near = NULL, world->n_near = world->most_near = 0;
}

/* Returns the contact that a row is of, or -1. */
static int find_contact(const Contacts* contacts, const ForceRow* row) {
    for (int k = 0; k < contacts->n_contacts; k++) {
        const int32_t* known = contacts->contacts + 4 * k;
        if (known[0] == row->body_a && known[1] == row->body_b && known[2] == row->link_a && known[3] == row->link_b)
            return k;
    }
    return -1;
}

/* Writes the force on each finger in a step: see FingerLoads of contacts.py. `sums` are (n_sums, 3). */
static void write_finger_forces(const Contacts* contacts, const double* sums, double* out) {
    for (int finger = 0; finger < contacts->n_fingers; finger++) {
        double total[3] = {0.0, 0.0, 0.0}, largest = 0.0;
        for (int s = 0; s < contacts->n_sums; s++) {
            if (contacts->finger_of[s] != finger) continue;
            const double* sum = sums + 3 * s;
            double square = sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2];
            largest = square > largest ? square : largest;
            for (int i = 0; i < 3; i++) total[i] += sum[i];
        }
        double square = total[0] * total[0] + total[1] * total[1] + total[2] * total[2];
        out[finger] = sqrt(square > largest ? square : largest);
    }
}

/* Measures the contacts of the last run. Returns UNKNOWN_CONTACT if Python must describe one first (contact -1). */
EXPORT int core_measure(CoreWorld* world, Contacts* contacts, double* sums) {
    int unknown = 0, n_pairs = contacts->n_pairs, n_views = contacts->n_views;
    for (int r = 0; r < world->n_rows; r++) unknown |= (world->rows[r].contact = find_contact(contacts, world->rows + r)) < 0;
    if (unknown) return UNKNOWN_CONTACT;
    for (int k = 0; k < contacts->n_steps * n_pairs; k++) contacts->pair_force[k] = -1.0;
    memset(contacts->view_force, 0, contacts->n_steps * n_views * sizeof(double));
    memset(contacts->finger_force, 0, contacts->n_steps * contacts->n_fingers * sizeof(double));
    int r = 0;
    for (int step = 0; step < contacts->n_steps; step++) {
        if (r == world->n_rows || world->rows[r].step != step) continue;
        double* pair_force = contacts->pair_force + step * n_pairs;
        memset(sums, 0, 3 * contacts->n_sums * sizeof *sums);
        for (; r < world->n_rows && world->rows[r].step == step; r++) {
            const ForceRow* row = world->rows + r;
            for (int side = 0; side < 2; side++) {
                int pair = contacts->pairs_of[2 * row->contact + side];
                if (pair >= 0) pair_force[pair] = (pair_force[pair] < 0.0 ? 0.0 : pair_force[pair]) + row->normal_n;
                int sum = contacts->sums_of[2 * row->contact + side];
                for (int i = 0; sum >= 0 && i < 3; i++)
                    sums[3 * sum + i] += contacts->signs[2 * row->contact + side] * row->force_n[i];
            }
        }
        double* view_force = contacts->view_force + step * n_views;
        for (int pair = 0; pair < n_pairs; pair++)
            for (int view = 0; pair_force[pair] > 0.0 && view < n_views; view++)
                if (contacts->views_of[pair] >> view & 1 && pair_force[pair] > view_force[view])
                    view_force[view] = pair_force[pair];
        write_finger_forces(contacts, sums, contacts->finger_force + step * contacts->n_fingers);
    }
    return 0;
}

/* ---- clearance ---- */

/* Sets joints of a body, at rest. */
static int set_joints(const CoreWorld* world, BodyState* body, int n, const int32_t* rows, const double* positions) {
    double q[MAX_COORDINATES] = {0.0}, dq[MAX_COORDINATES] = {0.0};
    int has_q[MAX_COORDINATES] = {0}, has_dq[MAX_COORDINATES] = {0};
    for (int i = 0; i < n; i++) {
        int at = body->q_index[rows[i]];
        q[at] = positions[i], has_q[at] = has_dq[body->u_index[rows[i]]] = 1;
    }
    Command command = b3CreatePoseCommandInit(world->client, body->id);
    b3CreatePoseCommandSetQ(command, MAX_COORDINATES, q, has_q);
    b3CreatePoseCommandSetQdots(command, MAX_COORDINATES, dq, has_dq);
    body->is_known = 0;
    return submit(world, command) ? 0 : BULLET_FAILED;
}

/* Adds the points that a query finds; closest points of the root link are left out. */
static int add_points(CoreWorld* world, Command query, int is_contact) {
    struct b3ContactInformation found;
    if (!submit(world, query)) return BULLET_FAILED;
    b3GetContactPointInformation(world->client, &found);
    for (int k = 0; k < found.m_numContactPoints; k++) {
        const struct b3ContactPointData* point = found.m_contactPointData + k;
        const double* at = point->m_positionOnAInWS;
        if (!is_contact && point->m_linkIndexA < 0) continue;
        if (world->n_near == world->most_near) {
            int most = world->most_near ? 2 * world->most_near : 64;
            NearPoint* grown = realloc(world->near, most * sizeof *grown);
            if (!grown) return NO_MEMORY;
            world->near = grown, world->most_near = most;
        }
        world->near[world->n_near++] =
            (NearPoint){point->m_bodyUniqueIdA, point->m_bodyUniqueIdB, point->m_linkIndexA, point->m_linkIndexB,
                        is_contact, 0, point->m_contactDistance, {at[0], at[1], at[2]}};
    }
    return 0;
}

/* Reads the bounding boxes (MAX_LINKS, 2, 3) of the links of a body, with its root or without; returns their number. */
static int read_boxes(const CoreWorld* world, int body, int with_root, double* boxes) {
    Status status = submit(world, b3RequestCollisionInfoCommandInit(world->client, body));
    int n = 0;
    if (!status) return BULLET_FAILED;
    for (int link = with_root ? -1 : 0; n < MAX_LINKS && b3GetStatusAABB(status, link, boxes + 6 * n, boxes + 6 * n + 3);
         link++)
        n += boxes[6 * n] <= boxes[6 * n + 3]; /* a link without colliders has none */
    return n;
}

/* Whether any two boxes are nearer than a distance along every axis. */
static int any_near(const double* boxes_a, int n_a, const double* boxes_b, int n_b, double distance) {
    for (int i = 0; i < n_a; i++)
        for (int j = 0; j < n_b; j++) {
            const double *a = boxes_a + 6 * i, *b = boxes_b + 6 * j;
            int apart = 0;
            for (int k = 0; k < 3; k++) apart |= a[k] - b[k + 3] > distance || b[k] - a[k + 3] > distance;
            if (!apart) return 1;
        }
    return 0;
}

/* Sets joints and finds the contacts of a body and, if the distance is not negative, the points at which it is nearer
 * to the `others` than that. Bullet measures the distances between all links of two bodies, so pairs of bodies are left
 * out whose boxes are farther apart. Returns the number of points. */
EXPORT int core_find_near(CoreWorld* world, const NearQuery* asked) {
    double own[6 * MAX_LINKS], theirs[6 * MAX_LINKS];
    int error, n_own = 0, body = asked->body->id;
    world->n_near = 0;
    if ((error = set_joints(world, asked->body, asked->n_q, asked->rows, asked->q)) < 0) return error;
    if (asked->n_s && (error = set_joints(world, asked->part, asked->n_s, asked->part_rows, asked->s)) < 0) return error;
    if (!submit(world, b3InitPerformCollisionDetectionCommand(world->client))) return BULLET_FAILED;
    Command query = b3InitRequestContactPointInformation(world->client);
    b3SetContactFilterBodyA(query, body);
    if ((error = add_points(world, query, 1)) < 0) return error;
    if (asked->distance < 0.0) return world->n_near;
    if ((n_own = read_boxes(world, body, 0, own)) < 0) return n_own;
    for (int k = 0; k < asked->n_others; k++) {
        int n = read_boxes(world, asked->others[k], 1, theirs);
        if (n < 0) return n;
        if (!any_near(own, n_own, theirs, n, asked->distance)) continue;
        query = b3InitClosestDistanceQuery(world->client);
        b3SetClosestDistanceFilterBodyA(query, body);
        b3SetClosestDistanceFilterBodyB(query, asked->others[k]);
        b3SetClosestDistanceThreshold(query, asked->distance);
        if ((error = add_points(world, query, 0)) < 0) return error;
    }
    return world->n_near;
}

/* ---- inertia ---- */

/* Axes of the servo's joints in the world frame, (n_axes, 3). */
static void rotate_axes(const BodyState* body, const Servo* servo, double* out) {
    for (int k = 0; k < servo->n_axes; k++) {
        double R[9];
        rotation_of(body->links + 7 * servo->axis_links[k] + 3, R);
        rotate(R, servo->axes + 3 * k, out + 3 * k);
    }
}

/* Adds armatures to the mass matrix: the sum of a J^T J, where J dq is the speed of an armature about its axis. */
static int add_armatures(const BodyState* body, Servo* servo) {
    int n = servo->n;
    double* axes = malloc((3 * servo->n_axes + 1) * sizeof *axes);
    if (!axes) return NO_MEMORY;
    rotate_axes(body, servo, axes);
    for (int a = 0; a < servo->n_armatures; a++) {
        const double* own = axes + 3 * servo->armature_axes[a];
        double J[MAX_SERVO];
        for (int j = 0; j < n; j++) {
            const double* axis = axes + 3 * j;
            J[j] = servo->moves[a * n + j] * (own[0] * axis[0] + own[1] * axis[1] + own[2] * axis[2]);
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) servo->M[i * n + j] += J[i] * (servo->armatures[a] * J[j]);
    }
    free(axes);
    return 0;
}

/* Cholesky: M = L L^T. Returns 0, or NOT_POSITIVE_DEFINITE. */
static int factor(const double* M, double* L, int n) {
    memset(L, 0, n * n * sizeof *L);
    for (int j = 0; j < n; j++) {
        for (int i = j; i < n; i++) {
            double sum = M[i * n + j];
            for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (i == j && !(sum > 0.0)) return NOT_POSITIVE_DEFINITE;
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
    }
    return 0;
}

/* Eigenvalues and eigenvectors (columns of V) of a symmetric matrix, by Jacobi rotations; A becomes diagonal. */
static void diagonalize(double* A, double* V, int n) {
    for (int i = 0; i < n * n; i++) V[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 50; sweep++) {
        double off = 0.0, diagonal = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) *(i == j ? &diagonal : &off) += A[i * n + j] * A[i * n + j];
        if (off <= 1e-30 * diagonal) return;
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++) {
                if (A[p * n + q] == 0.0) continue;
                double theta = (A[q * n + q] - A[p * n + p]) / (2.0 * A[p * n + q]);
                double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
                double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                for (int k = 0; k < n; k++) {
                    double x = A[k * n + p], y = A[k * n + q];
                    A[k * n + p] = c * x - s * y, A[k * n + q] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = A[p * n + k], y = A[q * n + k];
                    A[p * n + k] = c * x - s * y, A[q * n + k] = s * x + c * y;
                }
                for (int k = 0; k < n; k++) {
                    double x = V[k * n + p], y = V[k * n + q];
                    V[k * n + p] = c * x - s * y, V[k * n + q] = s * x + c * y;
                }
            }
        }
    }
}

/* Computes stiffness and damping from the inertia; `most_phase` is the largest phase of a mode in a step [rad]. */
EXPORT int core_update_gains(const CoreWorld* world, Servo* servo, double most_phase) {
    int n = servo->n;
    double L[MAX_SERVO * MAX_SERVO], A[MAX_SERVO * MAX_SERVO], V[MAX_SERVO * MAX_SERVO], shapes[MAX_SERVO * MAX_SERVO];
    if (factor(servo->M, L, n)) return NOT_POSITIVE_DEFINITE;
    double inverse[MAX_SERVO * MAX_SERVO] = {0.0}; /* of L, by forward substitution */
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double sum = i == j;
            for (int k = j; k < i; k++) sum -= L[i * n + k] * inverse[k * n + j];
            inverse[i * n + j] = sum / L[i * n + i];
        }
    for (int i = 0; i < n; i++) /* A = L^-1 K L^-T, K diagonal */
        for (int j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) sum += inverse[i * n + k] * servo->stiffness[k] * inverse[j * n + k];
            A[i * n + j] = A[j * n + i] = sum;
        }
    diagonalize(A, V, n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k <= i; k++) sum += L[i * n + k] * V[k * n + j];
            shapes[i * n + j] = sum;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double spring = 0.0, damper = 0.0;
            for (int k = 0; k < n; k++) {
                double square = A[k * n + k] > 0.0 ? A[k * n + k] : 0.0, w = sqrt(square), most = most_phase / world->dt;
                w = w < most ? w : most;
                double product = shapes[i * n + k] * shapes[j * n + k];
                spring += product * (w * w);
                damper += product * (2.0 * w - world->dt * (w * w));
            }
            servo->K[i * n + j] = spring;
            servo->D[i * n + j] = servo->root_of_ratio[i] * damper * servo->root_of_ratio[j];
        }
    return 0;
}

/* Computes the inertia of a servo at the present joint positions, unless no joint has moved by `least_motion` [rad]
 * since it was computed last. Returns 1 if it was computed, 0 if not. */
EXPORT int core_refresh_inertia(const CoreWorld* world, BodyState* body, Servo* servo, double least_motion, double most_phase) {
    int n = servo->n, all = body->n_joints, moved = !(least_motion > 0.0), count = 0, error;
    if (!body->is_known && read_body(world, body, 1) < 0) return BULLET_FAILED;
    for (int i = 0; i < n; i++) moved |= !(fabs(body->q[servo->rows[i]] - servo->inertia_at[i]) < least_motion);
    if (!moved) return 0;
    if (body->is_known != WITH_LINKS && read_body(world, body, 1) < 0) return BULLET_FAILED;
    for (int i = 0; i < n; i++) servo->inertia_at[i] = body->q[servo->rows[i]];
    Status status = submit(world, b3CalculateMassMatrixCommandInit(world->client, body->id, body->q, all));
    if (!status || !b3GetStatusMassMatrix(world->client, status, &count, NULL) || count != all) return NO_MASS_MATRIX;
    double* whole = malloc(all * all * sizeof *whole);
    if (!whole) return NO_MEMORY;
    b3GetStatusMassMatrix(world->client, status, NULL, whole);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) servo->M[i * n + j] = whole[servo->rows[i] * all + servo->rows[j]];
    free(whole);
    if ((error = add_armatures(body, servo)) < 0) return error;
    return (error = core_update_gains(world, servo, most_phase)) < 0 ? error : 1;
}

/* ---- steps ---- */

/* Adds the CPU time of this thread since `since` to a part; returns the time now [s]. */
static double note_time(CoreWorld* world, double since, int part) {
    struct timespec now;
    if (!world->is_timed) return 0.0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (since > 0.0) world->spent[part] += seconds - since;
    return seconds;
}

/* Runs n physics steps. `first` is the number of the first one among those whose contacts are kept.
 *
 * Returns how many steps it ran: it stops before a step for which the fingers of an arm need other targets. */
EXPORT int core_run(CoreWorld* world, int n, int first) {
    int error = 0;
    if (first == 0) world->n_rows = 0;
    for (int b = 0; b < world->n_bodies; b++)
        if (!world->bodies[b]->is_known && (error = read_body(world, world->bodies[b], 0)) < 0) return error;
    for (int step = 0; step < n; step++) {
        if (!receive_commands(world)) {
            for (int b = 0; b < world->n_bodies; b++) /* the frames of links were not read in the middle */
                if ((error = core_read(world, world->bodies[b])) < 0) return error;
            return step;
        }
        double since = note_time(world, 0.0, MOTORS);
        for (int b = 0; b < world->n_bodies; b++)
            if ((error = apply_torques(world, world->bodies[b])) < 0) return error;
        since = note_time(world, since, MOTORS);
        if (!submit(world, b3InitStepSimulationCommand(world->client))) return BULLET_FAILED;
        since = note_time(world, since, PHYSICS);
        for (int b = 0; b < world->n_bodies; b++) {
            BodyState* body = world->bodies[b];
            if (!body->n_joints && step < n - 1) continue;
            if ((error = read_body(world, body, step == n - 1)) < 0) return error;
            if (step == n - 1) note_state(body);
            note_borne(body);
            for (int row = 0; row < body->n_joints; row++)
                if (fabs(body->dq[row]) > body->max_speed) body->max_speed = fabs(body->dq[row]), body->fastest = row;
        }
        since = note_time(world, since, STATES);
        if ((error = read_contacts(world, first + step)) < 0) return error;
        note_time(world, since, CONTACTS);
    }
    return n;
}
