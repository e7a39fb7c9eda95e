import { parseBenchCommand } from './bench-command.ts'
import { runBench } from './bench-run.ts'
import { SUITES } from './suites.ts'

const EXIT_FAILED = 1
const EXIT_USAGE = 2
/** As shells have it for a program that SIGINT ended. */
const EXIT_INTERRUPTED = 130

const command = parseBenchCommand(process.argv.slice(2), SUITES)
if (command.kind === 'help') {
  process.stdout.write(command.text)
} else if (command.kind === 'error') {
  process.stderr.write(command.text)
  process.exitCode = EXIT_USAGE
} else {
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  const output = {
    result: (text: string) => void process.stdout.write(text),
    progress: (text: string) => void process.stderr.write(text),
  }
  try {
    await runBench(command.run, output, interrupted.signal)
  } catch (error) {
    if (!interrupted.signal.aborted) process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = interrupted.signal.aborted ? EXIT_INTERRUPTED : EXIT_FAILED
  }
}
