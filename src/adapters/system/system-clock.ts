import type { Clock } from '../../proxy/ports.ts'

export class SystemClock implements Clock {
  wallMs(): number {
    return Date.now()
  }

  monotonicMs(): number {
    return performance.now()
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) {
        resolve()
        return
      }
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
