#!/usr/bin/env node
import { writeFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { openapiDocument } from './adapters/admin/openapi-document.ts'
import { loadConfig } from './config.ts'
import { ConfigError } from './config/config-error.ts'
import { transportKinds } from './core/peers/transport-kinds.ts'
import { demoCommand } from './demo/demo.ts'
import { filterCommand } from './filter.ts'
import { StartError } from './start-error.ts'
import { packageVersion } from './running-proxy.ts'
import { serve } from './serve.ts'
import { simulateCommand } from './simulate.ts'

/** Conventional: what was asked for could not be understood. */
const EXIT_USAGE = 2
const EXIT_FAILED = 1

function program(): Command {
  const root = new Command('summary-cache')
    .description('A caching proxy whose instances share what they hold by Bloom-filter digests.')
    .version(packageVersion())
    .showHelpAfterError('(--help shows what there is)')
    .exitOverride()
  root
    .command('serve')
    .description('Run one proxy until SIGTERM or SIGINT. SIGHUP opens the access log anew.')
    .option(
      '-c, --config <file>',
      'YAML configuration; without it every default (deploy/config.example.yaml shows them)',
    )
    .option('--check', 'read the configuration, say what is wrong with it, and stop')
    .addHelpText('after', `\nA peer's digest comes by its transport:\n${transportLines()}`)
    .action(async (options: { config?: string; check?: boolean }) => {
      const config = loadConfig(options.config, process.env)
      if (options.check) process.stdout.write(`${options.config ?? 'the defaults'}: usable\n`)
      else process.exitCode = await serve(config)
    })
  root.addCommand(simulateCommand())
  root.addCommand(demoCommand())
  root.addCommand(filterCommand())
  root
    .command('openapi')
    .description('Print the OpenAPI document of the administration API.')
    .option('-o, --output <file>', 'write it there instead')
    .action(async (options: { output?: string }) => {
      const text = `${JSON.stringify(await openapiDocument(), null, 2)}\n`
      if (options.output === undefined) process.stdout.write(text)
      else writeFileSync(options.output, text)
    })
  // Subcommands that were built elsewhere take the root's way of ending.
  for (const command of root.commands) {
    command.copyInheritedSettings(root).exitOverride()
    for (const inner of command.commands) inner.copyInheritedSettings(root).exitOverride()
  }
  return root
}

function transportLines(): string {
  return Object.entries(transportKinds)
    .map(([name, { description }]) => `  ${name}: ${description}`)
    .join('\n')
}

try {
  await program().parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has said what it had to say; help and version end with 0.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE
  } else if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = EXIT_USAGE
  } else if (error instanceof StartError) {
    process.stderr.write(`summary-cache: ${error.message}\n`)
    process.exitCode = EXIT_FAILED
  } else {
    throw error
  }
}
