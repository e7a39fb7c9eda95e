import { posix } from 'node:path'
import type { SourceModule } from './source-module.ts'

// The layers, as rules over the files' paths and imports.

interface Layer {
  readonly name: string
  readonly holds: (path: string) => boolean
  /** `target`: a path from the project's root, or a specifier such as `node:net` or `fastify`. */
  readonly mayImport: (target: string, from: string) => boolean
  /** May read the clock, use chance and set timers. */
  readonly worldly: boolean
}

const within =
  (...folders: readonly string[]) =>
  (path: string) =>
    folders.some((folder) => path.startsWith(`src/${folder}/`))
const isOwnCode = (target: string) => target.startsWith('src/')
const isAssert = (target: string) => target === 'node:assert'
/** `src/adapters/http` of `src/adapters/http/tunnel.ts`. */
const adapterFolder = (path: string) => path.split('/').slice(0, 3).join('/')

// The first that holds a file is its layer.
const LAYERS: readonly Layer[] = [
  {
    // It runs in browsers as well.
    name: 'core/filter',
    holds: within('core/filter'),
    mayImport: within('core/filter'),
    worldly: false,
  },
  {
    name: 'core',
    holds: within('core'),
    mayImport: (target) => within('core')(target) || isAssert(target),
    worldly: false,
  },
  {
    name: 'proxy',
    holds: within('proxy'),
    mayImport: (target) => within('core', 'proxy')(target) || isAssert(target),
    worldly: false,
  },
  {
    name: 'adapters',
    holds: within('adapters'),
    mayImport: (target, from) =>
      !isOwnCode(target) || within('core', 'proxy')(target) || adapterFolder(target) === adapterFolder(from),
    worldly: true,
  },
  {
    name: 'sim',
    holds: within('sim'),
    mayImport: (target) =>
      within('core', 'proxy', 'sim')(target) ||
      isAssert(target) ||
      /^node:(fs|path|readline|stream|zlib)$/.test(target),
    worldly: false,
  },
  {
    name: 'config',
    holds: (path) => path === 'src/config.ts' || within('config')(path),
    mayImport: (target) => !isOwnCode(target) || within('core', 'config')(target),
    worldly: false,
  },
  {
    name: 'dashboard',
    holds: within('dashboard'),
    mayImport: within('dashboard', 'core/filter'),
    worldly: true,
  },
  {
    name: 'composition',
    holds: (path) => within('demo')(path) || /^src\/[a-z-]+\.ts$/.test(path),
    mayImport: () => true,
    worldly: true,
  },
]

function layerOf(path: string): Layer | undefined {
  return LAYERS.find((layer) => layer.holds(path))
}

/** The path that a relative specifier means, or the specifier itself. */
function targetOf(specifier: string, from: string): string {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : specifier
}

/** Files of no layer, and imports that their layer does not allow or that lead nowhere. */
export function forbiddenEdges(modules: readonly SourceModule[]): string[] {
  const paths = new Set(modules.map(({ path }) => path))
  return modules.flatMap(({ path, specifiers }) => {
    const layer = layerOf(path)
    if (layer === undefined) return [`${path} belongs to no layer`]
    return specifiers.flatMap((specifier) => {
      const target = targetOf(specifier, path)
      if (specifier.startsWith('.') && !paths.has(target)) return [`${path} imports ${target}, which is no source file`]
      return layer.mayImport(target, path) ? [] : [`${path} (${layer.name}) imports ${target}`]
    })
  })
}

/** Uses of clock, chance and timers in layers that get them through ports. */
export function worldlyUses(modules: readonly SourceModule[]): string[] {
  return modules.flatMap(({ path, worldly }) =>
    layerOf(path)?.worldly ? [] : worldly.map((use) => `${path} uses ${use}`),
  )
}

/**
 * One line per group of files that import each other in a circle. Imports of types count as well: they vanish at run
 * time, but whoever wants to understand one of the files still has to read them all.
 */
export function cycles(modules: readonly SourceModule[]): string[] {
  const graph = new Map(modules.map(({ path, specifiers }) => [path, specifiers.map((s) => targetOf(s, path))]))
  const reach = new Map([...graph.keys()].map((path) => [path, reachableFrom(graph.get(path)!, graph)]))
  const groups = new Set<string>()
  for (const [path, reached] of reach) {
    if (!reached.has(path)) continue
    const group = [...reached].filter((other) => reach.get(other)?.has(path))
    groups.add(group.toSorted().join(', '))
  }
  return [...groups].map((group) => `these import each other: ${group}`)
}

/** Source files that no chain of imports from one of `roots` arrives at. */
export function unreached(modules: readonly SourceModule[], roots: readonly string[]): string[] {
  const graph = new Map(modules.map(({ path, specifiers }) => [path, specifiers.map((s) => targetOf(s, path))]))
  const reached = reachableFrom(roots, graph)
  return [...graph.keys()]
    .filter((path) => isOwnCode(path) && !reached.has(path))
    .map((path) => `nothing reaches ${path}`)
}

function reachableFrom(starts: readonly string[], graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const waiting = [...starts]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path) || !graph.has(path)) continue
    reached.add(path)
    waiting.push(...graph.get(path)!)
  }
  return reached
}
