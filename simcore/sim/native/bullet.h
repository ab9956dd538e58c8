/* What the core uses of Bullet's C interface: declarations of version 3.2, whose layout is that of the number
 * BULLET_VERSION. Bullet loads a plugin only if it returns this number, so another layout is refused.
 * Names and fields are Bullet's (PhysicsClientC_API.h and SharedMemoryPublic.h, zlib licence). */
#ifndef UNLATCH_BULLET_H
#define UNLATCH_BULLET_H

#define BULLET_VERSION 202010061

typedef struct b3PhysicsClientHandle__* Client;
typedef struct b3SharedMemoryCommandHandle__* Command;
typedef struct b3SharedMemoryStatusHandle__* Status;

enum { CONTROL_VELOCITY = 0, CONTROL_TORQUE = 1, CONTROL_POSITION = 2 };
enum { FORCE_IN_WORLD_FRAME = 2 };

struct b3LinkState {
    double m_worldPosition[3];
    double m_worldOrientation[4];
    double m_localInertialPosition[3];
    double m_localInertialOrientation[4];
    double m_worldLinkFramePosition[3];
    double m_worldLinkFrameOrientation[4];
    double m_worldLinearVelocity[3];
    double m_worldAngularVelocity[3];
    double m_worldAABBMin[3];
    double m_worldAABBMax[3];
};

struct b3ContactPointData {
    int m_contactFlags;
    int m_bodyUniqueIdA;
    int m_bodyUniqueIdB;
    int m_linkIndexA;
    int m_linkIndexB;
    double m_positionOnAInWS[3];
    double m_positionOnBInWS[3];
    double m_contactNormalOnBInWS[3];
    double m_contactDistance;
    double m_normalForce;
    double m_linearFrictionForce1;
    double m_linearFrictionForce2;
    double m_linearFrictionDirection1[3];
    double m_linearFrictionDirection2[3];
};

struct b3ContactInformation {
    int m_numContactPoints;
    struct b3ContactPointData* m_contactPointData;
};

struct b3PluginContext {
    Client m_physClient;
    void* m_userPointer;
};

/* Result type, name and parameters of each function. */
#define BULLET_FUNCTIONS(F)                                                                                         \
    F(Status, b3SubmitClientCommandAndWaitStatus, (Client, Command))                                                \
    F(Command, b3InitStepSimulationCommand, (Client))                                                               \
    F(Command, b3RequestActualStateCommandInit, (Client, int))                                                      \
    F(int, b3RequestActualStateCommandComputeForwardKinematics, (Command, int))                                     \
    F(int, b3GetStatusActualState2,                                                                                 \
      (Status, int*, int*, int*, int*, const double**, const double**, const double**, const double**,              \
       const double**, const double**, const double**, const double**))                                             \
    F(int, b3GetLinkState, (Client, Status, int, struct b3LinkState*))                                              \
    F(Command, b3CalculateInverseDynamicsCommandInit2,                                                              \
      (Client, int, const double*, int, const double*, const double*, int))                                         \
    F(int, b3GetStatusInverseDynamicsJointForces, (Status, int*, int*, double*))                                    \
    F(Command, b3CalculateMassMatrixCommandInit, (Client, int, const double*, int))                                 \
    F(int, b3GetStatusMassMatrix, (Client, Status, int*, double*))                                                  \
    F(Command, b3JointControlCommandInit2, (Client, int, int))                                                      \
    F(int, b3JointControlSetDesiredPosition, (Command, int, double))                                                \
    F(int, b3JointControlSetKp, (Command, int, double))                                                             \
    F(int, b3JointControlSetDesiredVelocity, (Command, int, double))                                                \
    F(int, b3JointControlSetKd, (Command, int, double))                                                             \
    F(int, b3JointControlSetMaximumForce, (Command, int, double))                                                   \
    F(int, b3JointControlSetDesiredForceTorque, (Command, int, double))                                             \
    F(Command, b3ApplyExternalForceCommandInit, (Client))                                                           \
    F(void, b3ApplyExternalForce, (Command, int, int, const double*, const double*, int))                           \
    F(Command, b3InitRequestContactPointInformation, (Client))                                                      \
    F(void, b3SetContactFilterBodyA, (Command, int))                                                                \
    F(void, b3GetContactPointInformation, (Client, struct b3ContactInformation*))                                   \
    F(Command, b3InitClosestDistanceQuery, (Client))                                                                \
    F(void, b3SetClosestDistanceFilterBodyA, (Command, int))                                                        \
    F(void, b3SetClosestDistanceFilterBodyB, (Command, int))                                                        \
    F(void, b3SetClosestDistanceThreshold, (Command, double))                                                       \
    F(Command, b3RequestCollisionInfoCommandInit, (Client, int))                                                    \
    F(int, b3GetStatusAABB, (Status, int, double*, double*))                                                        \
    F(Command, b3InitPerformCollisionDetectionCommand, (Client))                                                    \
    F(Command, b3CreatePoseCommandInit, (Client, int))                                                              \
    F(int, b3CreatePoseCommandSetQ, (Command, int, const double*, const int*))                                      \
    F(int, b3CreatePoseCommandSetQdots, (Command, int, const double*, const int*))

#endif
