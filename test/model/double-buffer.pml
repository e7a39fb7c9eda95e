/*
 * Readers and the writer of one double buffer (PROTOCOL rule 4), as double-buffer.ts has them, for spin to explore
 * whole. One step is one atomic load, store or compare-and-exchange, or one bit read or written: readers and writer
 * take turns at will, and any of them may stop for ever anywhere.
 *
 * A buffer has two bits, which is what a mixture takes, and a build may give them any values: a buffer that is rebuilt
 * under a reader shows in some run. Two readers (-DREADERS=2) are explored with buffers of one bit: with two there are
 * more than 50 million states. Epochs are numbered modulo EPOCHS, so that they come round, which in the code takes 2^27
 * swaps.
 *
 * -DBREAK_... breaks the rule that it names, in one place; -DPOOL=2 is a pool without a buffer for a reader that sleeps.
 */

#ifndef READERS
#define READERS 1
#endif
/* DEFAULT_POOL_SIZE. */
#ifndef POOL
#define POOL 3
#endif
#define EPOCHS 2
#ifndef BITS
#define BITS 2
#endif

/* Control word 0: epoch and index. Epochs start at 1, so a word is never OUTSIDE. */
#define OUTSIDE 0
#define word(epoch, index) ((epoch) * POOL + (index))
#define indexOf(w) ((w) % POOL)
#define epochOf(w) ((w) / POOL)
byte control = POOL;
/* Control words 1 and up. */
byte pin[READERS];

typedef Bits { bool at[BITS] }
Bits buffer[POOL];

/* For the checks alone: what a reader that is inside must see, the state it came for and what deltas have raised in it. */
Bits due[READERS];
/* A reader has written its word since the writer began to look for an idle buffer. */
bool hasStirred;

bool rule_4_no_mixture = true, rule_4_writer_goes_on = true;

#define isPinnedBy(reader, index) (pin[reader] != OUTSIDE && indexOf(pin[reader]) == index)
#define activeIndex indexOf(control)

active [READERS] proctype Reader() {
  byte own, now, at;
  do
  :: own = control;
    do
    :: atomic { pin[_pid] = own; hasStirred = true };
      /* Only now does the writer see us: look again. What is active then is what must be seen. */
      atomic {
        now = control;
        for (at : 0 .. BITS - 1) { due[_pid].at[at] = buffer[indexOf(now)].at[at] };
        at = 0;
#ifdef BREAK_RULE_4_LOOK_AGAIN
        now = own;
#endif
        if
        :: now == own -> now = 0; break
        :: now != own -> own = now; now = 0
        fi
      }
    od;
    do
    :: atomic {
        at < BITS ->
        rule_4_no_mixture = buffer[indexOf(own)].at[at] == due[_pid].at[at];
        assert(rule_4_no_mixture);
        at++
      }
    :: atomic {
        at == BITS ->
        pin[_pid] = OUTSIDE;
        for (at : 0 .. BITS - 1) { due[_pid].at[at] = false };
        own = 0;
        at = 0;
        break
      }
    od
  od
}

active proctype Writer() {
  byte index, reader, keeper, at;
  bool twoKeep;
  do
  /* A delta: a bit is raised in the active buffer, whoever is inside. */
  :: atomic {
      select(at : 0 .. BITS - 1);
      buffer[activeIndex].at[at] = true;
      for (reader : 0 .. READERS - 1) {
        due[reader].at[at] = due[reader].at[at] || isPinnedBy(reader, activeIndex)
      };
      reader = 0;
      at = 0
    }
  /* A turnover or snapshot. */
  :: atomic { true -> index = 0; reader = 0; keeper = READERS; hasStirred = false };
#ifdef BREAK_RULE_4_IN_PLACE
    index = activeIndex;
#else
    /* idle(): the first buffer that is neither active nor has a reader inside. It looks at one word in a step. */
    do
    :: atomic { index < POOL && index == activeIndex -> index++ }
    :: atomic { index < POOL && index != activeIndex && reader < READERS && !isPinnedBy(reader, index) -> reader++ }
    :: atomic {
        index < POOL && index != activeIndex && reader < READERS && isPinnedBy(reader, index) ->
#ifdef BREAK_RULE_4
        reader++
#else
        twoKeep = twoKeep || (keeper != READERS && keeper != reader);
        keeper = reader;
        reader = 0;
        index++
#endif
      }
    :: atomic { index == POOL || reader == READERS -> break }
    od;
    /*
     * One reader that sleeps never keeps the writer from its next build. One that enters just then, and goes from one
     * word that is no longer true to another, may be met twice: then the next look finds a buffer. The writer waits for
     * none of them: it goes on with deltas.
     */
    atomic {
      rule_4_writer_goes_on = index < POOL || twoKeep || hasStirred;
      assert(rule_4_writer_goes_on);
      reader = 0; keeper = 0; twoKeep = false; hasStirred = false
    };
#endif
    if
    :: index < POOL ->
      do
      :: atomic { at < BITS -> buffer[index].at[at] = false; at++ }
      :: atomic { at < BITS -> buffer[index].at[at] = true; at++ }
      :: atomic { at == BITS -> control = word(epochOf(control) % EPOCHS + 1, index); at = 0; index = 0; break }
      od
    :: else -> index = 0
    fi
  od
}
