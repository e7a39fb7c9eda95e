import { styleText } from 'node:util'
import { Command, InvalidArgumentError, Option } from 'commander'
import { MAX_BIT_COUNT, MAX_PROBE_COUNT } from './core/filter/filter-geometry.ts'
import { FILTER_KINDS } from './core/filter/filter-kinds.ts'
import { KeyHasher } from './core/filter/key-hasher.ts'
import { sizeReport, sizeText, type SizeDemand } from './filter-size.ts'
import { traceText, type Paint, type TraceStep } from './filter-trace.ts'

/** What is drawn must fit a screen. */
const MAX_TRACED_BITS = 256
const MAX_ENTRIES = 2 ** 31
/** Nearer to 1, a double cannot tell the rate of so many entries from that of one more. */
const MAX_ERROR = 0.999

interface TraceOptions {
  readonly bits: number
  readonly probes: number
  readonly hash: 'murmur3' | 'md5'
}

/** `summary-cache filter`. */
export function filterCommand(): Command {
  const command = new Command('filter').description('Size a filter, or watch one at work.')
  command.addCommand(sizeCommand())
  command.addCommand(traceCommand())
  return command
}

function sizeCommand(): Command {
  return new Command('size')
    .description('How large a filter of each kind is for so many entries, beside exact sets.')
    .requiredOption('-n, --entries <n>', 'how many, such as 1000000 or 1e6', count(1, MAX_ENTRIES))
    .option('-e, --error <rate>', 'how often a stranger may be claimed: 0.01, 1% or 1/100', rate, 0.01)
    .option('-m, --bits <m>', 'tell about a Bloom filter of so many bits', count(1, MAX_BIT_COUNT))
    .option('-k, --probes <k>', 'with so many probes; the best number when not given', count(1, MAX_PROBE_COUNT))
    .addOption(new Option('--kind <kind>', 'only this one').choices(FILTER_KINDS.map(({ name }) => name)))
    .option('--key-bytes <n>', 'of a key in a set, on average', count(1, 65_536), 60)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      '\nExamples: summary-cache filter size --entries 1e6 --error 1/256\n          summary-cache filter size --entries 1e5 --bits 1600000 --probes 4',
    )
    .action((options: SizeDemand & { json?: boolean }, command: Command) => {
      try {
        const { entries, error, keyBytes, bits, probes, kind } = options
        const report = sizeReport({ entries, error, keyBytes, bits, probes, kind })
        process.stdout.write(options.json === true ? `${JSON.stringify(report, null, 2)}\n` : sizeText(report))
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        command.error(`error: ${error.message}; ask for fewer entries or a greater error`)
      }
    })
}

function traceCommand(): Command {
  const steps: TraceStep[] = []
  // In the order in which they stand on the command line.
  const step =
    (verb: TraceStep['verb']) =>
    (text: string): TraceStep[] => {
      steps.push(parsedStep(verb, text))
      return steps
    }
  return new Command('trace')
    .description('Add keys to a Bloom filter and ask for some, and see every bit.')
    .option('-m, --bits <m>', 'in the filter', count(1, MAX_TRACED_BITS), 16)
    .option('-k, --probes <k>', 'for each key', count(1, MAX_PROBE_COUNT), 2)
    .addOption(
      new Option('--hash <scheme>', 'where positions are not given').choices(['murmur3', 'md5']).default('murmur3'),
    )
    .option(
      '-a, --add <key[=positions]>',
      'add a key, such as apple or apple=2,5; numbers behind the last = are its positions',
      step('add'),
    )
    .option(
      '-q, --query <key[=positions]>',
      'ask for a key; both as often as wanted, in the order given',
      step('query'),
    )
    .addHelpText(
      'after',
      '\nExample: summary-cache filter trace --bits 8 --add apple=2,5 --add banana=5,7 --query cherry=1,4 --query grape=2,7',
    )
    .action((options: TraceOptions, command: Command) => {
      const { bits, probes, hash } = options
      if (steps.length === 0) command.error('error: nothing to do; name a key by --add or --query')
      const known = new Map<string, readonly number[]>()
      for (const { verb, key, positions } of steps) {
        if (positions === undefined) continue
        const problem = positionsProblem(positions, known.get(key), bits, probes)
        if (problem !== undefined) command.error(`error: --${verb} ${key}: ${problem}`)
        known.set(key, positions)
      }
      const hasher = hash === 'md5' ? KeyHasher.md5(probes) : KeyHasher.murmur3()
      const geometry = { ...hasher.hashing, bitCount: bits, probeCount: probes }
      // What is given for a key once holds wherever it is named.
      const placed = steps.map(({ verb, key }) => ({ verb, key, positions: known.get(key) }))
      process.stdout.write(traceText(placed, geometry, hasher, process.stdout.isTTY ? inColour : inBlack))
    })
}

/** Leaves the colours out where NO_COLOR says so. */
const inColour: Paint = (tone, text) => styleText(tone, text)
const inBlack: Paint = (_, text) => text

function positionsProblem(
  positions: readonly number[],
  before: readonly number[] | undefined,
  bits: number,
  probes: number,
): string | undefined {
  const wrong = positions.find((position) => position >= bits)
  if (wrong !== undefined) return `position ${wrong} of ${bits} bits; positions go from 0 to ${bits - 1}`
  if (positions.length !== probes) {
    return `${positions.length} position${positions.length === 1 ? '' : 's'} for ${probes} probe${probes === 1 ? '' : 's'}; give ${probes}`
  }
  if (before !== undefined && before.join() !== positions.join()) {
    return `positions ${positions.join()} after ${before.join()}; a key has the same ones always, give them once`
  }
  return undefined
}

/** A key, perhaps with positions behind its last `=`. */
function parsedStep(verb: TraceStep['verb'], text: string): TraceStep {
  const match = /^(.+)=(\d{1,10}(?:,\d{1,10})*)$/.exec(text)
  if (match === null) {
    if (text === '' || text.startsWith('=') || /=[\d,\s-]*$/.test(text)) {
      throw new InvalidArgumentError('Write a key, or a key and its positions: apple or apple=2,5.')
    }
    return { verb, key: text, positions: undefined }
  }
  return { verb, key: match[1]!, positions: match[2]!.split(',').map(Number) }
}

function count(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    const isNumber = /^\d+(?:\.\d+)?(?:e\d{1,2})?$/i.test(text)
    if (!isNumber || !Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(`Write a whole number from ${min} to ${max}.`)
    }
    return value
  }
}

/** 0.01, 1e-2, 1% or 1/100. */
function rate(text: string): number {
  const number = String.raw`(\d+(?:\.\d+)?(?:e-?\d{1,3})?)`
  const [, percentage] = new RegExp(`^${number}\\s*%$`, 'i').exec(text) ?? []
  const [, above, below] = new RegExp(`^${number}/${number}$`, 'i').exec(text) ?? []
  const [, plain] = new RegExp(`^${number}$`, 'i').exec(text) ?? []
  let value = Number(plain)
  if (percentage !== undefined) value = Number(percentage) / 100
  if (above !== undefined) value = Number(above) / Number(below)
  if (!(value > 0 && value <= MAX_ERROR)) {
    throw new InvalidArgumentError(`Write a rate above 0 and up to ${MAX_ERROR}: 0.01, 1% or 1/100.`)
  }
  return value
}
