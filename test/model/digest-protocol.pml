/*
 * The digest protocol between one publisher and its followers (PROTOCOL rules 1, 2, 3 and 9; docs/protocol.md),
 * for spin to explore whole. `double-buffer.pml` has rule 4.
 *
 * Names. Published names only grow, so the model numbers the states in the order in which they were published: a name
 * is an index into `published`, and comparing names is comparing numbers. `incarnation` and `generation` say what stands
 * in the name. A delta leads from one state to a later one of its generation, over one sequence or several; what bits
 * it carries follows from its two ends.
 *
 * Network. Every message that could have been sent may arrive at any time, any number of times, in any order, or never:
 * Network picks it from all that was ever published. Channels, however long, allow less. In addition a message may be
 * damaged so that its format holds: one position more or one less. A checksum is taken to tell any two digests apart.
 *
 * Stream. What a live follower reads: it says what it has, and gets what follows, in order, until the stream is cut. It
 * brings no message that Network could not; only -DCONVERGENCE has it, so that something is certain to arrive.
 *
 * Follower. As replica.ts, waiting-changes.ts and state-build.ts have it, one call of `receive` or one slice of `work`
 * in a step. Left out: sizes, moves to another home, time (a replica not proved for three heartbeats is not
 * consulted; here that would only hide what it claims).
 *
 * Followers. They share nothing but the publisher, which none of them changes: one stands for all, and is explored
 * further. -DFOLLOWERS=2 makes it three peers.
 *
 * Bounds. Two bits are one that changes and one that must not. Four states have room for a gap in a generation and for
 * one across a turnover, each with a state before and after. The second incarnation stands for every later one. These
 * are 2.5 million states; a second place for waiting changes, or a second follower, twice as many and more, which the
 * tests buy with fewer faults.
 *
 * -DBREAK_... breaks the rule that it names, in one place.
 */

#ifndef FOLLOWERS
#define FOLLOWERS 1
#endif
#ifndef BITS
#define BITS 2
#endif
#ifndef STATES
#define STATES 4
#endif
#ifndef INCARNATIONS
#define INCARNATIONS 2
#endif
/* Changes that a follower keeps for later. */
#ifndef WAITING
#define WAITING 1
#endif
/* Damaged messages, restarts of followers and cut streams, together. The network's whims are not counted. */
#ifndef FAULTS
#define FAULTS 1
#endif

#define NONE 0
#define ALL_BITS ((1 << BITS) - 1)

/* ---- What was published, under its names. ---- */

byte latest = 1;
byte published[STATES + 1];
byte incarnation[STATES + 1];
byte generation[STATES + 1];
byte faults = FAULTS;

#define sameGeneration(a, b) (incarnation[a] == incarnation[b] && generation[a] == generation[b])

/* ---- Messages ---- */

mtype = { SNAPSHOT, CHANGE, HEARTBEAT, GOODBYE }

/* The way to state `to`; without `from` it is a snapshot. `damage`: positions that came wrongly. */
typedef Way { byte from; byte to; byte damage }

#define isDelta(way) (way.from != NONE && sameGeneration(way.from, way.to))
#define isTurnover(way) (way.from != NONE && !sameGeneration(way.from, way.to))
#define setBits(way) ((published[way.to] & ~published[way.from]) ^ way.damage)
#define clearBits(way) (published[way.from] & ~published[way.to])

/* ---- A follower ---- */

typedef Replica {
  byte seen;             /* the highest incarnation heard of */
  byte held;             /* name of the proved state */
  byte bits;             /* what a reader sees, if anything is held */
  Way build;             /* being worked off, in slices */
  byte done;             /* slices of it */
  byte idle;             /* bits of the buffer that is built in */
  Way snapshot;          /* waits for the build before it */
  Way waiting[WAITING];
  byte newest;           /* the latest name that counts */
  bool isDisputed;
  byte sent;             /* by its stream, so far; NONE: it is closed */
  bool metDamage         /* for the checks alone */
}
Replica replica[FOLLOWERS];
#if FOLLOWERS == 1
#define R replica[0]
#else
#define R replica[f]
#endif

/* A delta raises its bits after its proof, one slice for each. */
#define isRaising (R.build.to != NONE && isDelta(R.build) && R.done > 0)

/* Scratch of one step; NONE between steps. */
Way message;
mtype kind, fit;
bool isSmall;            /* a delta that is merged at once, not in slices */
byte reached, i, heldBefore, bitsBefore, seenBefore;

inline forgetWay(way) { way.from = NONE; way.to = NONE; way.damage = 0 }
inline copyWay(target, source) { target.from = source.from; target.to = source.to; target.damage = source.damage }
inline giveUpBuild() { forgetWay(R.build); R.done = 0; R.idle = 0 }

inline forget(newIncarnation) {
  R.seen = newIncarnation;
  R.held = NONE;
  R.bits = 0;
#ifndef BREAK_RULE_9_GOODBYE
  giveUpBuild();
#endif
  forgetWay(R.snapshot);
  for (i : 0 .. WAITING - 1) { forgetWay(R.waiting[i]) }
  R.newest = NONE;
  R.isDisputed = false
}

#ifdef BREAK_RULE_1
#define proves(some, way) true
#else
#define proves(some, way) ((some) == published[way.to])
#endif

#ifdef BREAK_RULE_2_OR
#define merged(way) (R.bits ^ setBits(way))
#else
#define merged(way) (R.bits | setBits(way))
#endif

inline proved(name) { R.held = name; R.isDisputed = false }

/* A small delta, or one whose bits are all raised in this step. */
inline mergeAtOnce(way) {
#ifdef BREAK_RULE_2
  R.bits = merged(way);
  if
  :: proves(R.bits, way) -> proved(way.to)
  :: else -> R.isDisputed = true
  fi
#else
  if
  :: proves(merged(way), way) -> R.bits = merged(way); proved(way.to)
  :: else -> R.isDisputed = true
  fi
#endif
}

/* waiting-changes.ts: fitOf. */
mtype = { FITS, WAITS, SAME, STALE, UNFIT, CONFLICT }
inline fitOf(way) {
  if
  :: R.held == NONE -> fit = WAITS
  :: else ->
    if
    :: way.to == R.held -> fit = SAME
    :: way.to < R.held -> fit = STALE
    :: way.to > R.held && generation[way.from] > generation[R.held] -> fit = WAITS
    :: way.to > R.held && generation[way.from] < generation[R.held] -> fit = UNFIT
    :: way.to > R.held && generation[way.from] == generation[R.held] ->
      if
      :: way.from > R.held -> fit = WAITS
      :: way.from == R.held || (way.from < R.held && isDelta(way)) -> fit = FITS
      :: way.from < R.held && isTurnover(way) -> fit = CONFLICT
      fi
    fi
  fi
}

/* Sets i to where it waits, or to WAITING when there is no room. */
inline wait(way) {
  i = 0;
  do
  :: i < WAITING && R.waiting[i].to != NONE && (R.waiting[i].to != way.to || R.waiting[i].from != way.from) -> i++
  :: i < WAITING && R.waiting[i].to == way.to && R.waiting[i].from == way.from -> break
  :: i < WAITING && R.waiting[i].to == NONE -> copyWay(R.waiting[i], way); break
  :: i == WAITING -> break
  od
}

/* ---- replica.ts: what it has and lacks ---- */

#define wants(name) (name > R.held || (name == R.held && R.isDisputed))
#define needsSnapshot (R.isDisputed && R.snapshot.to == NONE && !(R.build.to != NONE && R.build.from == NONE))
#define leadsOn(way) (way.to > reached && sameGeneration(way.from, reached) && \
                      (isDelta(way) -> way.from <= reached : way.from == reached))

inline lookAhead() {
  reached = (R.held > R.build.to -> R.held : R.build.to);
  reached = (R.snapshot.to > reached -> R.snapshot.to : reached);
  i = 0;
  do
  :: i < WAITING && leadsOn(R.waiting[i]) -> reached = R.waiting[i].to; i = 0
  :: i < WAITING && !leadsOn(R.waiting[i]) -> i++
  :: i == WAITING -> break
  od
}

/* After lookAhead. */
#define lacks (needsSnapshot || reached == NONE || reached < R.newest)

/* ---- replica.ts: receive ---- */

inline receiveSnapshot() {
  if
  :: !wants(message.to) ->
    if
    :: message.to == R.held -> proved(R.held)
    :: else
    fi
  :: else ->
    R.newest = (message.to > R.newest -> message.to : R.newest);
    if
    :: R.build.to == NONE -> copyWay(R.build, message)
    :: R.build.to != NONE && R.build.from == NONE && message.to <= R.build.to
    :: R.build.to != NONE && !(R.build.from == NONE && message.to <= R.build.to) ->
      if
      :: message.to > R.snapshot.to -> copyWay(R.snapshot, message)
      :: else
      fi
    fi
  fi
}

inline make() {
  if
  :: R.build.to == NONE && isSmall -> mergeAtOnce(message)
  :: R.build.to == NONE && !isSmall -> copyWay(R.build, message)
  :: R.build.to != NONE && isTurnover(R.build) && isDelta(message) -> R.isDisputed = true
  :: R.build.to != NONE && R.build.from == NONE && isSmall ->
    mergeAtOnce(message);
    if
    :: !wants(R.build.to) -> giveUpBuild()
    :: else
    fi
  :: else -> wait(message)
  fi
}

inline receiveChange() {
  fitOf(message);
  if
  :: fit == FITS -> make()
  :: fit == SAME -> proved(R.held)
  :: fit == CONFLICT -> R.isDisputed = true
  :: fit == WAITS ->
#ifndef BREAK_RULE_2_GAP
    wait(message)
#endif
  :: fit == STALE || fit == UNFIT
  fi
}

inline receive() {
  remember();
  R.metDamage = R.metDamage || message.damage != 0;
  if
#ifdef BREAK_RULE_9
  :: incarnation[message.to] < R.seen -> forget(incarnation[message.to])
#else
  :: incarnation[message.to] < R.seen
#endif
  :: else ->
    if
#ifdef BREAK_RULE_9_NEW
    :: incarnation[message.to] > R.seen && kind != GOODBYE -> R.seen = incarnation[message.to]
    :: kind == GOODBYE -> forget(incarnation[message.to])
#else
    :: incarnation[message.to] > R.seen || kind == GOODBYE -> forget(incarnation[message.to])
#endif
    :: else
    fi;
    if
    :: kind == GOODBYE
    :: kind == SNAPSHOT -> receiveSnapshot()
    :: kind == CHANGE || kind == HEARTBEAT ->
#ifdef BREAK_RULE_2_GAP
      R.newest = (message.to > R.newest && kind == HEARTBEAT -> message.to : R.newest);
#else
      R.newest = (message.to > R.newest -> message.to : R.newest);
#endif
      if
      :: kind == HEARTBEAT && message.to == R.held ->
        proved(R.held);
        for (i : 0 .. WAITING - 1) { forgetWay(R.waiting[i]) };
        R.newest = R.held
      :: kind == HEARTBEAT && message.to != R.held
      :: kind == CHANGE -> receiveChange()
      fi
    fi
  fi;
  lookAhead();
  checkReceived();
  check()
}

/* ---- replica.ts: work, a slice of it ---- */

inline nextBuild() {
  i = 0;
  fit = WAITS;
  do
  :: i < WAITING && fit == WAITS ->
    if
    :: R.waiting[i].to != NONE -> fitOf(R.waiting[i])
    :: else
    fi;
    i = (fit == WAITS -> i + 1 : i)
  :: i == WAITING || fit != WAITS -> break
  od;
  if
  :: i < WAITING ->
    if
    :: fit == FITS -> copyWay(R.build, R.waiting[i])
    :: fit == CONFLICT -> R.isDisputed = true
    :: else
    fi;
    for (i : i .. WAITING - 2) { copyWay(R.waiting[i], R.waiting[i + 1]) };
    forgetWay(R.waiting[WAITING - 1])
  :: i == WAITING && R.snapshot.to != NONE ->
    if
    :: wants(R.snapshot.to) -> copyWay(R.build, R.snapshot)
    :: else
    fi;
    forgetWay(R.snapshot)
  :: i == WAITING && R.snapshot.to == NONE
  fi
}

#define position (1 << R.done)

inline advance() {
  if
  :: isDelta(R.build) && R.done == 0 ->
    if
    :: proves(merged(R.build), R.build) -> R.done = 1
    :: else -> R.isDisputed = true; giveUpBuild()
    fi
  :: isDelta(R.build) && R.done > 0 && R.done <= BITS ->
    R.bits = R.bits | (setBits(R.build) & (1 << (R.done - 1)));
    R.done++;
    if
    :: R.done > BITS -> proved(R.build.to); giveUpBuild()
    :: else
    fi
  :: !isDelta(R.build) && R.done < BITS ->
    if
    :: isTurnover(R.build) -> R.idle = R.idle | (((R.bits | setBits(R.build)) & ~clearBits(R.build)) & position)
    :: else -> R.idle = R.idle | (setBits(R.build) & position)
    fi;
    R.done++
  :: !isDelta(R.build) && R.done == BITS ->
    if
    :: proves(R.idle, R.build) -> R.bits = R.idle; proved(R.build.to)
    :: else -> R.isDisputed = true
    fi;
    giveUpBuild()
  fi
}

/* ---- What must hold after every step. The names are what spin prints. ---- */

bool rule_1_exact = true,
     rule_2_prove_then_raise = true,
     rule_2_no_false_miss = true,
     rule_2_never_back = true,
     rule_2_gap_is_seen = true,
     rule_2_no_harm = true,
     rule_3_bits_fall_by_turnover = true,
     rule_9_old_incarnation_refused = true,
     rule_9_old_replica_thrown_away = true,
     rule_9_goodbye = true;

inline remember() { heldBefore = R.held; bitsBefore = R.bits; seenBefore = R.seen }

inline check() {
  rule_2_prove_then_raise = R.held == NONE || R.bits == bitsBefore || R.held != heldBefore || isRaising;
  assert(rule_2_prove_then_raise);
  /* Bit for bit what was published under its name; while a proved delta is raised, on the way to the next state. */
  rule_1_exact = R.held == NONE || (isRaising -> (R.bits & ~published[R.build.to]) == 0 : R.bits == published[R.held]);
  assert(rule_1_exact);
  rule_2_no_false_miss = R.held == NONE || (published[R.held] & ~R.bits) == 0;
  assert(rule_2_no_false_miss);
  /* Repetition and reordering never lead back; only a new life or a goodbye ends what was held. */
  rule_2_never_back = R.held >= heldBefore || R.seen != seenBefore || kind == GOODBYE;
  assert(rule_2_never_back);
  /* What is right disturbs nothing, in whatever order, as often as it comes, with whatever ranges. */
  rule_2_no_harm = R.metDamage || !R.isDisputed;
  assert(rule_2_no_harm);
  rule_3_bits_fall_by_turnover =
    heldBefore == NONE || R.held == NONE || !sameGeneration(heldBefore, R.held) || (bitsBefore & ~R.bits) == 0;
  assert(rule_3_bits_fall_by_turnover);
  rule_9_old_incarnation_refused = R.seen >= seenBefore;
  assert(rule_9_old_incarnation_refused);
  rule_9_old_replica_thrown_away = R.held == NONE || incarnation[R.held] == R.seen;
  assert(rule_9_old_replica_thrown_away);
  forgetWay(message);
  kind = 0; isSmall = false; fit = 0; reached = NONE; i = 0; heldBefore = NONE; bitsBefore = 0; seenBefore = 0
}

inline checkReceived() {
  /* A later state that was named is held, or on its way, or known to be lacking. */
  rule_2_gap_is_seen = incarnation[message.to] < R.seen || kind == GOODBYE || reached >= message.to || lacks;
  assert(rule_2_gap_is_seen);
  /* Nothing of it is left, nor comes to light later. */
  rule_9_goodbye = kind != GOODBYE || incarnation[message.to] < R.seen || (R.held == NONE && reached == NONE);
  assert(rule_9_goodbye)
}

/* Eventually, if what the stream sends arrives (weak fairness): when the publisher publishes no more and stays, the
   follower holds what it published last. */
#ifdef CONVERGENCE
ltl convergence { <>[] (replica[0].held == latest && replica[0].bits == published[latest]) }
#endif

/* ---- Who takes steps ---- */

inline maybeDamage() {
  if
  :: true
  :: faults > 0 -> faults--; select(i : 0 .. BITS - 1); message.damage = 1 << i
  fi
}

inline anySize() {
  if
  :: isDelta(message) -> isSmall = true
  :: true
  fi
}

/* Any message that was ever sent, or could have been. */
proctype Network(byte f) {
  do
  :: atomic {
      select(i : 1 .. latest);
      message.to = i;
      if
      :: kind = HEARTBEAT
#ifdef CONVERGENCE
      :: incarnation[message.to] < incarnation[latest] -> kind = GOODBYE
#else
      :: kind = GOODBYE
#endif
      :: kind = SNAPSHOT; maybeDamage()
      :: incarnation[message.to - 1] == incarnation[message.to] ->
        kind = CHANGE;
        message.from = message.to - 1;
        do
        :: sameGeneration(message.from - 1, message.to) -> message.from--
        :: break
        od;
        maybeDamage();
        anySize()
      fi;
      d_step { receive() }
    }
  /* A follower that starts again knows nothing, nor which incarnations it had seen. */
  :: d_step { faults > 0 && R.seen > 0 -> faults--; R.sent = NONE; forget(0); R.metDamage = false; i = 0 }
  od
}

/* What #build drives in digest-exchange.ts. Changes that wait are kept from the first place on. */
#define mayBuild (R.snapshot.to != NONE || R.waiting[0].to != NONE)

proctype Work(byte f) {
  do
  :: d_step { R.build.to != NONE -> remember(); advance(); check() }
  :: d_step { R.build.to == NONE && mayBuild -> remember(); nextBuild(); check() }
  od
}

/* digest-exchange.ts reads what digest-publisher.ts answers: catchUp, and then every frame that is published. */
proctype Stream(byte f) {
  do
  :: atomic {
      R.sent == NONE ->
      lookAhead();
      if
      :: !needsSnapshot && reached != NONE && incarnation[reached] == incarnation[latest] -> R.sent = reached; reached = NONE
      /* It asks for one, or the steps since then are no longer kept. */
      :: needsSnapshot || reached < latest ->
        reached = NONE;
        R.sent = latest;
        kind = SNAPSHOT;
        message.to = latest;
        maybeDamage();
        d_step { receive() }
      fi
    }
  :: atomic {
      R.sent != NONE ->
      if
      :: R.sent == latest -> kind = HEARTBEAT; message.to = latest
      :: R.sent < latest -> message.from = R.sent; message.to = R.sent + 1; kind = CHANGE; maybeDamage(); anySize()
      :: R.sent < latest && !sameGeneration(R.sent, R.sent + 1) -> message.to = R.sent + 1; kind = SNAPSHOT; maybeDamage()
      fi;
      d_step {
        R.sent = message.to;
        receive();
#ifndef BREAK_CONVERGENCE
        /* It asks anew, saying what it has. */
        lookAhead();
        R.sent = (lacks -> NONE : R.sent);
        reached = NONE; i = 0
#endif
      }
    }
  :: atomic { R.sent != NONE && faults > 0 -> faults--; R.sent = NONE }
  od
}

/*
 * The summary's own bits and counters are implied: whatever they are, this is what it can publish. All of it is published
 * before anything arrives: Network may hold back what it likes, so this is every run in which publisher and follower
 * take turns, told with fewer states. A life that ends without a goodbye has said one that nobody hears.
 */
inline publish() {
  select(next : 0 .. ALL_BITS);
  if
#ifdef BREAK_RULE_3
  :: next != published[latest] -> generation[latest + 1] = generation[latest]
#else
  :: next != published[latest] && (published[latest] & ~next) == 0 -> generation[latest + 1] = generation[latest]
#endif
  :: generation[latest + 1] = generation[latest] + 1
  fi;
  incarnation[latest + 1] = incarnation[latest];
  published[latest + 1] = next
}

/* A new life starts with nothing published. */
inline startAgain() { incarnation[latest + 1] = incarnation[latest] + 1 }

init {
  byte next;
  atomic {
    incarnation[1] = 1;
    do
    :: latest < STATES -> publish(); latest++
    :: latest < STATES && incarnation[latest] < INCARNATIONS -> startAgain(); latest++
    :: latest == STATES -> break
    od;
    next = 0;
    for (i : 0 .. FOLLOWERS - 1) {
      run Network(i);
      run Work(i)
#ifdef CONVERGENCE
      ; run Stream(i)
#endif
    };
    i = 0
  }
}
