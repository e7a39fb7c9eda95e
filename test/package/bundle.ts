import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'vite'

/** The module that a bundler makes of this entry, names kept. */
export async function bundled(entry: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'summary-cache-bundle-'))
  try {
    const file = join(folder, 'entry.js')
    writeFileSync(file, entry)
    const outputs = await build({
      configFile: false,
      logLevel: 'error',
      build: {
        write: false,
        minify: false,
        target: 'es2024',
        lib: { entry: file, formats: ['es'] },
        // The package says so of itself.
        rolldownOptions: { treeshake: { moduleSideEffects: false } },
      },
    })
    const [first] = [outputs].flat()
    if (first === undefined || !('output' in first)) throw new Error('nothing was built')
    return first.output[0].code
  } finally {
    rmSync(folder, { recursive: true })
  }
}
