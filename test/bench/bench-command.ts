import { parseArgs } from 'node:util'
import type { Suite } from './measurement.ts'

export interface BenchRun {
  readonly suites: readonly string[]
  readonly json: boolean
  readonly quick: boolean
}

/** What the arguments ask for: a run, the help, or nothing that can be done. */
export type BenchCommand =
  | { readonly kind: 'run'; readonly run: BenchRun }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'error'; readonly text: string }

const OPTIONS = {
  json: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export function parseBenchCommand(args: readonly string[], suites: Readonly<Record<string, Suite>>): BenchCommand {
  const names = Object.keys(suites)
  let parsed
  try {
    parsed = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return { kind: 'error', text: `${error.message}\n` }
  }
  const { values, positionals } = parsed
  if (values.help) return { kind: 'help', text: helpText(suites) }
  const unknown = positionals.find((name) => !names.includes(name))
  if (unknown !== undefined) {
    return { kind: 'error', text: `no suite is called ${unknown}: there are ${names.join(', ')}\n` }
  }
  // In their own order, each once.
  const chosen = names.filter((name) => positionals.length === 0 || positionals.includes(name))
  return { kind: 'run', run: { suites: chosen, json: values.json, quick: values.quick } }
}

function helpText(suites: Readonly<Record<string, Suite>>): string {
  return [
    'npm run bench -- [SUITE...] [--json] [--quick]',
    '',
    'CPU time of one thread, medians of rounds in which all that is compared takes turns in random order;',
    'ratios are medians of those within a round. Without a suite: all of them.',
    '',
    ...Object.entries(suites).map(([name, { about }]) => `  ${name.padEnd(10)}${about}`),
    '',
    '  --json    nothing on stdout but an array of { name, value, unit, reference, ratio }',
    '  --quick   smaller sizes and fewer rounds: whether it runs, not what it says',
    '',
  ].join('\n')
}
