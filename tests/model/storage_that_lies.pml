/* What happens to one shard when its database loses the last commits, and its device its state, while agents live on.
 *
 * Two agents, one device, two load balancers of one tenant. ownership.pml checks the three locks as long as the database
 * and the device keep what they were told; here they do not:
 *
 *   - the database goes back to an earlier moment, once: sessions, owner, epoch, revisions, statuses;
 *   - the device loses everything, or an older copy of it is restored, once; its state id is another one then;
 *   - another device group tries to take the partition.
 *
 * Every accepted change has an identity that is never given again (`next_change`); a revision and an epoch may be. Writes
 * and reports arrive late, or never. Guard moves are compare-and-set on the device, so one step (see ownership.pml).
 *
 * Faults may happen until `calm` is set, at any moment. From then on nothing new goes wrong, and the device must come to
 * hold what the database says, confirmed, for good; every step that is left in the calm changes something.
 *
 * The names in BROKEN of test_storage_model.py break one rule each, and a check must then fail.
 */

#define EPOCHS 7          /* an assertion says if this is too small */
#define SESSIONS 6
#ifndef CHANGES
#define CHANGES 3
#endif
#ifndef FAULTY_EPOCHS
#define FAULTY_EPOCHS 2
#endif
#ifndef RESTARTS
#define RESTARTS 1        /* of agents' processes, in all */
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 1        /* answers that are not waited for, in all */
#endif
#ifndef DEVICE_FAULTS
#define DEVICE_FAULTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#define ALL 2             /* a batch of everything */
#define NONE 255

bool calm = false;

/* The database, and the moment that it goes back to. */
byte epoch = 1;
byte owner = 1;           /* the session that acts; 0: nobody */
byte known[2];            /* the newest session of each agent */
byte change[2];           /* of each load balancer: the change that made what it is now; 0: there is none */
byte revision[2];
bool confirmed[2];           /* confirmed */
byte history = 1;

bool saved = false;
byte old_epoch, old_owner;
byte old_known[2];
byte old_change[2];
byte old_revision[2];
bool old_confirmed[2];
byte losses = 0;
bool behind = false;      /* it went back, and nobody noticed yet */

/* What is never given again. */
byte next_change = 1;
byte next_session = 3;
byte restarts = 0;
byte timeouts = 0;

/* The agents. */
byte session[2];
byte served[2];           /* epoch of the worker; 0: none */
bool guarded[2];
bool complete[2];         /* everything is to be put on the device */
byte saw_state[2];        /* the device's state id when the guard was moved */
byte saw_history[2];
byte believed[4];         /* [2 * agent + load balancer]: what it put there: change (or revision, if broken); 0: nothing */
#define BELIEVED(a, i) believed[2 * (a) + (i)]

/* A batch under way from each agent, and one that its sender no longer waits for. */
byte w_lb[3] = NONE;
byte w_epoch[3];
byte w_session[3];
byte w_state[3];
byte w_change[6];         /* [2 * slot + load balancer] */
byte w_revision[6];
#define LATE 2

/* A report under way from each agent. */
byte r_lb[2] = NONE;
byte r_epoch[2];
byte r_session[2];
byte r_change[4];
byte r_revision[4];

/* The device, and an older copy of it. */
byte g_epoch = 0;
byte g_session = 0;
bool g_ours = true;       /* the guard names our device group */
bool g_other = false;     /* another group has it */
byte held[2];             /* the change that made what it holds; 0: nothing */
byte state = 1;
byte device_faults = 0;
bool copied = false;
byte copy_epoch, copy_session;
byte copy_held[2];

/* What the assertions look at. */
byte ever = 0;            /* bit c: the device held change c at some moment */
byte whole_state = 0;     /* the state id under which it was last told everything */
byte writer[EPOCHS + 1];  /* the session whose writes it took at that epoch */

#define BIT(c) (1 << (c))
#define OWNS(a) (owner == session[a] && known[a] == session[a] && epoch == served[a])
#define SAME(i) (held[i] == change[i] && (change[i] == 0 || confirmed[i]))
ltl agrees { [] (calm -> <> [] (SAME(0) && SAME(1) && !g_other)) }

#ifdef MEMORY_BY_REVISION
#define IDENTITY(i) revision[i]
#define SENT(s, i) w_revision[2 * (s) + (i)]
#else
#define IDENTITY(i) change[i]
#define SENT(s, i) w_change[2 * (s) + (i)]
#endif

inline forget(a) {
    BELIEVED(a, 0) = 0;
    BELIEVED(a, 1) = 0
}

inline drop(a) {
    served[a] = 0;
    guarded[a] = false;
    complete[a] = false;
    saw_state[a] = 0;
    forget(a)
}

inline renew_epoch(least) {
    assert(least < EPOCHS);
    epoch = least + 1
}

inline report(agent, slot) {
    r_lb[agent] = w_lb[slot];
    r_epoch[agent] = w_epoch[slot];
    r_session[agent] = w_session[slot];
    r_change[2 * agent] = w_change[2 * slot];
    r_change[2 * agent + 1] = w_change[2 * slot + 1];
    r_revision[2 * agent] = w_revision[2 * slot];
    r_revision[2 * agent + 1] = w_revision[2 * slot + 1]
}

inline clear_write(s) {
    w_lb[s] = NONE; w_epoch[s] = 0; w_session[s] = 0; w_state[s] = 0;
    w_change[2 * s] = 0; w_change[2 * s + 1] = 0; w_revision[2 * s] = 0; w_revision[2 * s + 1] = 0
}

inline clear_report(a) {
    r_lb[a] = NONE; r_epoch[a] = 0; r_session[a] = 0;
    r_change[2 * a] = 0; r_change[2 * a + 1] = 0; r_revision[2 * a] = 0; r_revision[2 * a + 1] = 0
}

/* -- tenants, controllers and what befalls the database */

inline accept(i) {
    change[i] = next_change;
    next_change = next_change + 1;
    revision[i] = revision[i] + 1;
    confirmed[i] = false
}

#define MAY_MOVE (calm || epoch < FAULTY_EPOCHS)

proctype Controllers() {
end:
    do
    :: d_step { !calm && next_change <= CHANGES -> accept(0) }
#ifdef TWO
    :: d_step { !calm && next_change <= CHANGES -> accept(1) }
#endif
    /* takeover, rightly or wrongly; sessions that the database does not know own nothing */
    :: d_step { MAY_MOVE && owner != session[0] && known[0] == session[0] && (!calm || owner == 0) ->
        owner = session[0]; renew_epoch(epoch) }
    :: d_step { MAY_MOVE && owner != session[1] && known[1] == session[1] && (!calm || owner == 0) ->
        owner = session[1]; renew_epoch(epoch) }
    :: d_step { owner != 0 && owner != known[0] && owner != known[1] -> owner = 0 }
    :: d_step { !calm && !saved && losses < LOSSES ->
        saved = true;
        old_epoch = epoch; old_owner = owner;
        old_known[0] = known[0]; old_known[1] = known[1];
        old_change[0] = change[0]; old_change[1] = change[1];
        old_revision[0] = revision[0]; old_revision[1] = revision[1];
        old_confirmed[0] = confirmed[0]; old_confirmed[1] = confirmed[1]
        }
    :: d_step { !calm && saved ->
        saved = false; losses = losses + 1;
        epoch = old_epoch; owner = old_owner;
        known[0] = old_known[0]; known[1] = old_known[1];
        change[0] = old_change[0]; change[1] = old_change[1];
        revision[0] = old_revision[0]; revision[1] = old_revision[1];
        confirmed[0] = old_confirmed[0]; confirmed[1] = old_confirmed[1];
        old_epoch = 0; old_owner = 0; old_known[0] = 0; old_known[1] = 0; old_change[0] = 0; old_change[1] = 0;
        old_revision[0] = 0; old_revision[1] = 0; old_confirmed[0] = false; old_confirmed[1] = false;
        behind = true
        }
    od
}

#ifdef SETTLE_BY_REVISION
#define CONFIRMS(a, i) (r_revision[2 * (a) + (i)] == revision[i])
#else
#define CONFIRMS(a, i) (r_change[2 * (a) + (i)] == change[i])
#endif

inline settle(a, i) {
    if
    :: (r_lb[a] == ALL || r_lb[a] == i) && change[i] != 0 && !confirmed[i] && CONFIRMS(a, i) ->
        assert(ever & BIT(change[i]));   /* ACTIVE only what a device held */
        confirmed[i] = true
    :: else
    fi
}

proctype Reports(byte a) {
end:
    do
    :: d_step { r_lb[a] != NONE ->
        if
        :: owner == r_session[a] && epoch == r_epoch[a] -> settle(a, 0); settle(a, 1)
        :: else
        fi;
        clear_report(a)
        }
    :: d_step { !calm && r_lb[a] != NONE -> clear_report(a) }
    od
}

/* -- agents */

#define WORK(i) (change[i] != 0 && !confirmed[i])

inline fill(slot, agent, lb) {
    w_lb[slot] = lb;
    w_epoch[slot] = served[agent];
    w_session[slot] = session[agent];
    w_state[slot] = saw_state[agent];
    w_change[2 * slot] = (lb == 1 -> 0 : change[0]);
    w_change[2 * slot + 1] = (lb == 0 -> 0 : change[1]);
    w_revision[2 * slot] = (lb == 1 -> 0 : revision[0]);
    w_revision[2 * slot + 1] = (lb == 0 -> 0 : revision[1])
}

inline one(a, i) {
    if
    :: BELIEVED(a, i) != 0 && BELIEVED(a, i) == IDENTITY(i) ->  /* it is there: only say so again */
        r_lb[a] = i;
        r_epoch[a] = served[a];
        r_session[a] = session[a];
        r_change[2 * a + i] = change[i];
        r_revision[2 * a + i] = revision[i]
    :: else -> fill(a, a, i)
    fi
}

#ifdef NO_STATE_ID
#define OTHER_STATE(a) false
#else
#define OTHER_STATE(a) (saw_state[a] != state)
#endif

proctype Agent(byte a) {
end:
    do
    /* the session: a database that went back may not know it any more */
    :: d_step { known[a] != session[a] -> assert(next_session <= SESSIONS);
        drop(a);
        clear_write(a);
        session[a] = next_session; next_session = next_session + 1;
        known[a] = session[a];
        saw_history[a] = history
        }
    /* a keepalive: the database lacks something that it has confirmed to this session */
    :: d_step { known[a] == session[a] && behind -> behind = false; history = history + 1 }
#ifndef NO_HISTORY
    :: d_step { known[a] == session[a] && saw_history[a] != history -> saw_history[a] = history;
        complete[a] = (served[a] != 0); forget(a) }
#endif

    /* assignments: an epoch that is served at another moment of history is served anew */
    :: d_step { known[a] == session[a] && owner == session[a] && served[a] != epoch && w_lb[a] == NONE ->
        drop(a); served[a] = epoch; complete[a] = true }
    :: d_step { served[a] != 0 && owner != session[a] && w_lb[a] == NONE -> drop(a) }

    /* the guard */
    :: d_step { served[a] != 0 && !guarded[a] && g_ours && g_epoch < served[a] ->
        g_epoch = served[a]; g_session = session[a]; guarded[a] = true; saw_state[a] = state; complete[a] = true }
#ifdef GUARD_WITHOUT_SESSION
    :: d_step { served[a] != 0 && !guarded[a] && g_ours && g_epoch == served[a] ->
        guarded[a] = true; saw_state[a] = state; complete[a] = true }
#else
    :: d_step { served[a] != 0 && !guarded[a] && g_ours && g_epoch == served[a] && g_session == session[a] ->
        guarded[a] = true; saw_state[a] = state; complete[a] = true }
#endif
    /* somebody newer, or somebody else's: if it is ours by the database, the epoch is lifted above */
    :: d_step { served[a] != 0 && !guarded[a] && OWNS(a) &&
#ifdef EQUAL_NOT_RAISED
            g_epoch > served[a] ->
#else
            (g_epoch > served[a] || (g_epoch == served[a] && g_session != session[a])) ->
#endif
        renew_epoch(g_epoch); drop(a) }

    /* a look at the device */
    :: d_step { guarded[a] && w_lb[a] == NONE && OTHER_STATE(a) -> guarded[a] = false; complete[a] = true; forget(a) }

    /* passes */
    :: d_step { guarded[a] && OWNS(a) && complete[a] && w_lb[a] == NONE && r_lb[a] == NONE ->
        forget(a); complete[a] = false; fill(a, a, ALL) }
    :: d_step { guarded[a] && OWNS(a) && !complete[a] && WORK(0) && w_lb[a] == NONE && r_lb[a] == NONE -> one(a, 0) }
#ifdef TWO
    :: d_step { guarded[a] && OWNS(a) && !complete[a] && WORK(1) && w_lb[a] == NONE && r_lb[a] == NONE -> one(a, 1) }
#endif
    /* no answer in time: everything again; the batch may still arrive */
    :: d_step { !calm && w_lb[a] != NONE && timeouts < TIMEOUTS -> timeouts = timeouts + 1;
        if
        :: w_lb[LATE] == NONE ->
            w_lb[LATE] = w_lb[a]; w_epoch[LATE] = w_epoch[a]; w_session[LATE] = w_session[a]; w_state[LATE] = w_state[a];
            w_change[2 * LATE] = w_change[2 * a]; w_change[2 * LATE + 1] = w_change[2 * a + 1];
            w_revision[2 * LATE] = w_revision[2 * a]; w_revision[2 * LATE + 1] = w_revision[2 * a + 1]
        :: else
        fi;
        clear_write(a); forget(a); complete[a] = (served[a] != 0)
        }
    /* the process ends and starts again; what it sent may still arrive */
    :: d_step { !calm && restarts < RESTARTS -> restarts = restarts + 1;
        if
        :: w_lb[a] != NONE && w_lb[LATE] == NONE ->
            w_lb[LATE] = w_lb[a]; w_epoch[LATE] = w_epoch[a]; w_session[LATE] = w_session[a]; w_state[LATE] = w_state[a];
            w_change[2 * LATE] = w_change[2 * a]; w_change[2 * LATE + 1] = w_change[2 * a + 1];
            w_revision[2 * LATE] = w_revision[2 * a]; w_revision[2 * LATE + 1] = w_revision[2 * a + 1]
        :: else
        fi;
        drop(a); clear_write(a);
        session[a] = next_session; next_session = next_session + 1;
        if
        :: owner == known[a] -> owner = 0
        :: else
        fi;
        known[a] = session[a];
        saw_history[a] = history
        }
    od
}

/* -- the device */

#ifdef GUARD_WITHOUT_SESSION
#define OF_SENDER(s) (g_epoch == w_epoch[s])
#else
#define OF_SENDER(s) (g_epoch == w_epoch[s] && g_session == w_session[s])
#endif
#ifdef NO_STATE_ID
#define IN_STATE(s) true
#else
#define IN_STATE(s) (w_state[s] == state)
#endif
#ifdef CHANGE_MOVES_GUARD
#define TAKES(s) (g_ours && (g_epoch < w_epoch[s] || OF_SENDER(s)))
#else
#define TAKES(s) (g_ours && OF_SENDER(s) && IN_STATE(s))
#endif

inline put(s, i) {
    if
    :: w_lb[s] == ALL || w_lb[s] == i ->
        held[i] = w_change[2 * s + i];
        ever = ever | BIT(held[i])
    :: else
    fi
}

inline take(s) {
    assert(writer[w_epoch[s]] == 0 || writer[w_epoch[s]] == w_session[s]);  /* one owner for an epoch */
    writer[w_epoch[s]] = w_session[s];
    g_epoch = w_epoch[s];
    g_session = w_session[s];
    if
    :: w_lb[s] == ALL -> whole_state = state
    :: else -> assert(whole_state == state)  /* nothing is built from one change */
    fi;
    put(s, 0);
    put(s, 1)
}

inline believe(a, i) {
    if
    :: w_lb[a] == ALL || w_lb[a] == i -> BELIEVED(a, i) = SENT(a, i)
    :: else
    fi
}

proctype Batches(byte a) {
end:
    do
    :: d_step { w_lb[a] != NONE && r_lb[a] == NONE ->
        if
        :: TAKES(a) ->
            take(a);
            report(a, a);
            believe(a, 0);
            believe(a, 1)
        :: else -> guarded[a] = false; complete[a] = (served[a] != 0); forget(a)  /* the guard is lost, or the shard */
        fi;
        clear_write(a)
        }
    od
}

proctype Device() {
end:
    do
    :: d_step { w_lb[LATE] != NONE && TAKES(LATE) -> take(LATE); clear_write(LATE) }
    :: d_step { w_lb[LATE] != NONE && !TAKES(LATE) -> clear_write(LATE) }
    :: d_step { !calm && device_faults < DEVICE_FAULTS ->           /* it lost everything */
        device_faults = device_faults + 1; state = state + 1;
        g_epoch = 0; g_session = 0; held[0] = 0; held[1] = 0
        }
    :: d_step { !calm && !copied && device_faults < DEVICE_FAULTS -> copied = true;
        copy_epoch = g_epoch; copy_session = g_session; copy_held[0] = held[0]; copy_held[1] = held[1] }
    :: d_step { !calm && copied && device_faults < DEVICE_FAULTS -> /* an older copy is put back */
        device_faults = device_faults + 1; state = state + 1; copied = false;
        g_epoch = copy_epoch; g_session = copy_session; held[0] = copy_held[0]; held[1] = copy_held[1];
        copy_epoch = 0; copy_session = 0; copy_held[0] = 0; copy_held[1] = 0
        }
#ifdef GUARD_WITHOUT_GROUP
    /* another device group that names this device takes the tenant's partition, and makes it its own */
    :: d_step { !calm && !g_other && g_epoch < 2 -> g_other = true; g_epoch = 2; g_session = SESSIONS + 1;
        held[0] = 0; held[1] = 0 }
#endif
    od
}

init {
    session[0] = 1; session[1] = 2;
    known[0] = 1; known[1] = 2;
    saw_history[0] = 1; saw_history[1] = 1;
    atomic {
        run Controllers();
        run Reports(0); run Reports(1);
        run Agent(0); run Agent(1);
        run Batches(0); run Batches(1);
        run Device()
    };
end:
#ifdef NEVER_CALM
    false
#else
    d_step { true -> calm = true }
#endif
}
