import type { Random } from '../../proxy/ports.ts'

export class SystemRandom implements Random {
  next(): number {
    return Math.random()
  }
}
