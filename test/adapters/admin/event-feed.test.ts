import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BACKLOG, EventFeed, MAX_LISTENERS } from '../../../src/adapters/admin/event-feed.ts'
import type { FeedListener, FeedMessage } from '../../../src/adapters/admin/event-feed.ts'
import type { ProxyEvent } from '../../../src/proxy/proxy-event.ts'

describe('a listener', () => {
  test('gets every event from then on, numbered in order', async () => {
    const feed = new EventFeed('x')
    feed.publish(turned(1))
    const listener = feed.listen(undefined)!
    feed.publish(turned(2))
    feed.publish(turned(3))
    expect(await waiting(feed, listener)).toEqual([
      { id: 'x-2', event: 'digest-turned', data: turned(2) },
      { id: 'x-3', event: 'digest-turned', data: turned(3) },
    ])
  })

  test('that comes back gets what it has missed, as far as that is kept', async () => {
    const feed = new EventFeed('x')
    for (let number = 1; number <= 3 * BACKLOG; number++) feed.publish(turned(number))
    const far = feed.listen('x-5')!.messages()
    for (let number = 2 * BACKLOG + 1; number <= 3 * BACKLOG; number++) {
      expect((await far.next()).value).toMatchObject({ id: `x-${number}` })
    }
    const near = await waiting(feed, feed.listen(`x-${3 * BACKLOG - 2}`)!)
    expect(near.map(({ id }) => id)).toEqual([`x-${3 * BACKLOG - 1}`, `x-${3 * BACKLOG}`])
  })

  test.each(['y-1', 'x-', 'x-99', 'x--3', 'x-1.5', '', 'nonsense', 'x-1e400'])(
    'that names %j, which is no event of this start, starts now',
    async (lastId) => {
      const feed = new EventFeed('x')
      feed.publish(turned(1))
      expect(await waiting(feed, feed.listen(lastId)!)).toEqual([])
    },
  )

  test('that is too slow loses the newest and is told how many, before what follows', async () => {
    const feed = new EventFeed('x')
    const listener = feed.listen(undefined)!
    for (let number = 1; number <= BACKLOG + 10; number++) feed.publish(turned(number))
    const messages = listener.messages()
    const seen: FeedMessage[] = []
    for (let read = 0; read <= BACKLOG; read++) seen.push((await messages.next()).value!)
    feed.publish(turned(999))
    seen.push((await messages.next()).value!)
    expect(seen.slice(0, BACKLOG).map(({ id }) => id)).toEqual(
      Array.from({ length: BACKLOG }, (_, index) => `x-${index + 1}`),
    )
    expect(seen[BACKLOG]).toEqual({ event: 'dropped', data: { kind: 'dropped', count: 10 } })
    expect(seen[BACKLOG + 1]).toMatchObject({ id: `x-${BACKLOG + 11}` })
  })

  test('loses nothing that it is not told of, however reading and writing alternate', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: -400, max: 400 }), { maxLength: 12 }), async (steps) => {
        const feed = new EventFeed('x')
        const messages = feed.listen(undefined)!.messages()
        let published = 0
        let accounted = 0
        for (const step of [...steps, -Infinity]) {
          for (let left = step; left > 0; left--) feed.publish(turned(++published))
          for (let left = -step; left > 0 && accounted < published; left--) {
            const { data } = (await messages.next()).value!
            accounted += data.kind === 'dropped' ? data.count : 1
            if (data.kind === 'digest-turned') expect(data.generation).toBe(accounted)
          }
        }
        expect(accounted).toBe(published)
      }),
      { numRuns: 40 },
    )
  })
})

test('there are only so many listeners, and one that leaves makes room', () => {
  const feed = new EventFeed('x')
  const listeners = Array.from({ length: MAX_LISTENERS }, () => feed.listen(undefined))
  expect(listeners).not.toContain(undefined)
  expect(feed.listen(undefined)).toBeUndefined()
  feed.leave(listeners[0]!)
  expect(feed.listen(undefined)).toBeDefined()
})

test('closing ends a listener that waits, and lets no other in', async () => {
  const feed = new EventFeed('x')
  const next = feed.listen(undefined)!.messages().next()
  feed.close()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(feed.listen(undefined)).toBeUndefined()
})

function turned(generation: number): ProxyEvent {
  return { kind: 'digest-turned', incarnation: 1, generation, reason: 'age' }
}

/** All that waits for the listener; it leaves after that. */
async function waiting(feed: EventFeed, listener: FeedListener): Promise<FeedMessage[]> {
  const mark = turned(-1)
  const messages: FeedMessage[] = []
  feed.publish(mark)
  for await (const message of listener.messages()) {
    if (message.data === mark) break
    messages.push(message)
  }
  feed.leave(listener)
  return messages
}
