/* Who may write to a device: session, epoch, guard and takeover of one shard, with two controllers, two agents and one
 * device. docs/explanation/ownership.md says in words what is modelled here; test_model.py checks it exhaustively.
 *
 * Time is not modelled: whatever may take long may happen at any later moment, or never. An agent that freezes is one
 * that takes no step for a while. What was once decided to be sent to the device (`writes`, `moves`) may leave a frozen
 * agent or arrive late, after its sender's death, more than once, or never; so may a release. Calls that name a session
 * do nothing once it was replaced, so late ones are left out; so are hints, which only make things quicker.
 *
 * Faults may happen until `calm` is set, which may be at any moment in which an agent runs. From then on nothing new
 * goes wrong, whatever went wrong before has its consequences, and the shard must come to be served. That is asked of
 * every run, without any assumption of fairness: each step that is left in the calm changes something, so a system that
 * runs in circles would be found.
 *
 * NEVER_CALM leaves the calm out, so that more faults can be looked at. The names in PLANTED of test_model.py break one
 * rule each, and the check must then fail; those in SOUGHT are situations that must come up, or nothing was checked.
 */

#define NOBODY 2
/* How much is looked at: */
#ifndef FAULTY_EPOCHS
#define FAULTY_EPOCHS 3  /* takeovers and handovers go on up to this epoch while faults may happen, ... */
#endif
#define EPOCHS 6         /* ... and then as far as needed; an assertion says if this is too small */
#ifndef RESTARTS
#define RESTARTS 1       /* processes of agents that start again with a new session, in all */
#endif

#define BIT(e) (1 << (e))
#define OTHER(a) (1 - (a))
#define CODE(a) (1 + (a) + 2 * session[a])

bool calm = false;

/* The database: the shard's row and a row for each agent. */
byte epoch = 1;
byte owner = 0;
byte handover = NOBODY;
byte session[2] = 1;     /* number of the newest session */
bool live[2] = true;     /* it has not expired, by the database's clock, and nobody ended it early on suspicion */

/* The agents' processes. */
bool up[2] = true;
bool joined[2] = true;   /* this process has opened the newest session */
bool lease[2] = false;   /* its own clock says that the lease stands; always ends before the session by itself does */
byte restarts = 0;       /* of both */
byte answer[2] = 0;      /* answer to "what is mine" under way: 0 none, 1 nothing is, e + 1 the shard at epoch e */
byte served[2] = 0;      /* the epoch at which a worker runs; 0: none */
bool guarded[2] = false; /* the worker has seen its guard on the device */

/* The device: the epoch that the guard is named after; 0: no guard yet. */
byte guard = 0;

/* The network. */
byte writes = 0;             /* bit e: a batch that names the guard of epoch e */
byte moves[EPOCHS + 1] = 0;  /* [e], bit s: "replace the guard of epoch s, which I saw, by that of e" */
byte released = 0;           /* the newest epoch e of "I give the shard back, which I had at e"; older ones do nothing */

/* What the assertions look at. */
byte owned_by[EPOCHS + 1] = 0; /* who had the epoch: agent and session */
byte newest = 0;               /* the newest epoch that took the guard, or wrote */

#define CAN_WRITE(a) (up[a] && live[a] && lease[a] && owner == a && handover == NOBODY \
    && served[a] == epoch && guarded[a] && guard == epoch)
ltl served_again { [] (calm -> <> (CAN_WRITE(0) || CAN_WRITE(1))) }

inline own(a, next) {
    assert(next <= EPOCHS);
    assert(next > epoch);            /* epochs only grow ... */
    assert(owned_by[next] == 0);     /* ... and each has one owner */
    epoch = next;
    owner = a;
    handover = NOBODY;
    owned_by[epoch] = CODE(a)
}

inline drop(a) {
    served[a] = 0;
    guarded[a] = false
}

/* how far is looked; no rule of ours */
#define MAY_MOVE(e) (calm || (e) < FAULTY_EPOCHS)
#define UNSERVED (owner == NOBODY || !live[owner])
/* a handover that takes too long is not waited for */
#define DUE_FOR(a) (live[a] && owner != (a) && (UNSERVED || handover == (a)))

/* Looks, decides, and commits later what may be out of date by then. */
proctype Controller() {
    byte seen = 0;
    byte taker = NOBODY;
end:
    do
    :: d_step { seen == 0 && MAY_MOVE(epoch) && DUE_FOR(0) -> seen = epoch; taker = 0 }
    :: d_step { seen == 0 && MAY_MOVE(epoch) && DUE_FOR(1) -> seen = epoch; taker = 1 }
    :: d_step { taker != NOBODY ->
        if
#ifdef TAKEOVER_COMPARES_NOTHING
        :: live[taker] -> epoch = seen; own(taker, seen + 1)
#else
#ifdef SAME_EPOCH
        :: epoch == seen && DUE_FOR(taker) -> own(taker, epoch)
#else
        :: epoch == seen && DUE_FOR(taker) -> own(taker, epoch + 1)
#endif
#endif
        :: else
        fi;
        seen = 0;
        taker = NOBODY
        }
    :: d_step { !calm && epoch < FAULTY_EPOCHS && owner != NOBODY && handover == NOBODY &&
                live[owner] && live[OTHER(owner)] ->
        handover = OTHER(owner)
        }
    od
}

/* What the database and its callers do without a decision: sessions end and revive, releases come in, and handovers
 * to the dead are called off. */
proctype Database() {
    byte a;
end:
    do
    :: d_step { !lease[0] && live[0] && !(calm && up[0] && joined[0]) -> live[0] = false } /* nothing was heard */
    :: d_step { !lease[1] && live[1] && !(calm && up[1] && joined[1]) -> live[1] = false }
    :: d_step { !calm && live[0] -> live[0] = false }               /* suspicion, right or wrong */
    :: d_step { !calm && live[1] -> live[1] = false }
    :: d_step { handover != NOBODY && !live[handover] -> handover = NOBODY }
    :: d_step { released == epoch && owner != NOBODY ->
        if
        :: handover != NOBODY && live[handover] && MAY_MOVE(epoch) -> a = handover; own(a, epoch + 1)
        :: else -> owner = NOBODY; handover = NOBODY
        fi;
        a = 0
        }
    od
}

#define MINE(a) (owner == (a) -> epoch : 0)

proctype Agent(byte a) {
end:
    do
    /* -- session */
    :: d_step { up[a] && joined[a] && !(live[a] && lease[a]) -> live[a] = true; lease[a] = true } /* keepalive */
    :: d_step { !calm && joined[a] && !live[a] -> live[a] = true }  /* its answer was lost */
    :: d_step { !calm && lease[a] -> lease[a] = false }
    :: d_step { up[a] && !joined[a] && !live[a] ->                  /* refused while the former session lives */
        session[a] = session[a] + 1;
        live[a] = true;
        joined[a] = true;
#ifndef SHARDS_OUTLIVE_SESSION
        if
        :: owner == a -> owner = NOBODY; handover = NOBODY
        :: else
        fi
#endif
        }

    /* -- assignments */
    :: d_step { up[a] && joined[a] && live[a] && answer[a] == 0 && handover == NOBODY && MINE(a) != served[a] ->
        answer[a] = 1 + MINE(a)
        }
    :: d_step { answer[a] == 1 -> drop(a); answer[a] = 0 }
    :: d_step { answer[a] > 1 ->
        if
        :: served[a] + 1 != answer[a] -> drop(a); served[a] = answer[a] - 1
        :: else
        fi;
        answer[a] = 0;
        assert(owned_by[served[a]] == CODE(a))                      /* an epoch is served by one session only */
        }
    :: d_step { up[a] && joined[a] && live[a] && owner == a && handover != NOBODY && released != epoch ->
        drop(a);
        released = epoch
        }

    /* -- the guard: look, then ask the device to replace what was seen */
#ifdef NO_GUARD
    :: d_step { served[a] != 0 && !guarded[a] -> guarded[a] = true }
#else
    :: d_step { served[a] != 0 && !guarded[a] && guard < served[a] && !(moves[served[a]] & BIT(guard)) ->
        moves[served[a]] = moves[served[a]] | BIT(guard)
        }
    :: d_step { served[a] != 0 && !guarded[a] && guard == served[a] -> guarded[a] = true }
    :: d_step { served[a] != 0 && guard > served[a] -> drop(a) }    /* the device says: somebody newer is here */
#endif

    /* -- writes */
    :: d_step { guarded[a] && lease[a] && !(writes & BIT(served[a])) -> writes = writes | BIT(served[a]) }

    /* -- the process */
    :: d_step { !calm && up[a] -> up[a] = false; joined[a] = false; lease[a] = false; answer[a] = 0; drop(a) }
    :: d_step { !calm && up[a] && joined[a] ->                      /* stopped: says good-bye */
        up[a] = false; joined[a] = false; lease[a] = false; answer[a] = 0; drop(a);
        live[a] = false;
        if
        :: owner == a -> owner = NOBODY; handover = NOBODY
        :: else
        fi
        }
    :: d_step { !calm && !up[a] && restarts < RESTARTS -> up[a] = true; restarts = restarts + 1 }
    od
}

inline move_arrives(e) {
    guard = e;
    assert(e > newest);              /* the guard never goes back */
    newest = e;
#ifndef GUARD_NOT_COMPARED
    /* what saw an older guard is refused from now on */
    moves[1] = moves[1] & ~(BIT(e) - 1);
    moves[2] = moves[2] & ~(BIT(e) - 1);
    moves[3] = moves[3] & ~(BIT(e) - 1);
    moves[4] = moves[4] & ~(BIT(e) - 1);
    moves[5] = moves[5] & ~(BIT(e) - 1);
    moves[6] = moves[6] & ~(BIT(e) - 1)
#endif
}

#ifdef GUARD_NOT_COMPARED
#define MOVES(e) (moves[e] != 0 && guard != (e))
#else
#ifdef STUCK_TAKEOVER
#define MOVES(e) ((moves[e] & BIT(guard)) && guard == (e) - 1)
#else
#define MOVES(e) (moves[e] & BIT(guard))
#endif
#endif

#ifdef NO_GUARD
#define TAKES(e) true
#else
#ifdef WRITE_NAMES_NO_EPOCH
#define TAKES(e) (guard != 0)
#else
#define TAKES(e) (guard == (e))
#endif
#endif

inline write_arrives(e) {
    assert(e >= newest);             /* no stale write is accepted */
    newest = e                       /* changes nothing where there are guards */
}

proctype Device() {
end:
    do
    :: d_step { MOVES(1) -> move_arrives(1) }
    :: d_step { MOVES(2) -> move_arrives(2) }
    :: d_step { MOVES(3) -> move_arrives(3) }
    :: d_step { MOVES(4) -> move_arrives(4) }
    :: d_step { MOVES(5) -> move_arrives(5) }
    :: d_step { MOVES(6) -> move_arrives(6) }
    :: d_step { !calm && (writes & BIT(1)) && TAKES(1) -> write_arrives(1) }
    :: d_step { !calm && (writes & BIT(2)) && TAKES(2) -> write_arrives(2) }
    :: d_step { !calm && (writes & BIT(3)) && TAKES(3) -> write_arrives(3) }
    :: d_step { !calm && (writes & BIT(4)) && TAKES(4) -> write_arrives(4) }
    :: d_step { !calm && (writes & BIT(5)) && TAKES(5) -> write_arrives(5) }
    :: d_step { !calm && (writes & BIT(6)) && TAKES(6) -> write_arrives(6) }
#ifdef SEEK_NEWEST_WRITE
    :: (writes & BIT(FAULTY_EPOCHS)) && TAKES(FAULTY_EPOCHS) -> assert(false)
#endif
#ifdef SEEK_LATE_WRITE
    :: (writes & BIT(1)) && guard == FAULTY_EPOCHS -> assert(false)
#endif
#ifdef SEEK_USELESS_SUSPICION
    :: guard == 1 && epoch == 2 && up[0] && lease[0] && served[0] == 1 -> assert(false)
#endif
    od
}

init {
    owned_by[1] = CODE(0);
    atomic {
        run Controller();
        run Controller();
        run Database();
        run Agent(0);
        run Agent(1);
        run Device()
    };
end:
#ifdef NEVER_CALM
    false
#else
    d_step { up[0] || up[1] -> calm = true }  /* at any moment, or never */
#endif
}
