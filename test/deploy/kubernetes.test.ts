import { readFileSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../src/config.ts'

const FOLDER = 'deploy/kubernetes'
const read = (file: string) => readFileSync(`${FOLDER}/${file}`, 'utf8')
const resources = readdirSync(FOLDER).filter((file) => !['kustomization.yaml', 'config.yaml'].includes(file))

type Labels = Readonly<Record<string, string>>
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } }

interface Service {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly clusterIP?: string
    readonly publishNotReadyAddresses?: boolean
    readonly selector: Labels
    readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: string }[]
  }
}

interface StatefulSet {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly replicas: number
    readonly serviceName: string
    readonly selector: { readonly matchLabels: Labels }
    readonly template: {
      readonly metadata: { readonly labels: Labels }
      readonly spec: {
        readonly securityContext: Readonly<Record<string, unknown>>
        readonly containers: readonly [Container]
        readonly volumes: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[]
      }
    }
  }
}

interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly valueFrom: object }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Kustomization {
  readonly resources: readonly string[]
  readonly configMapGenerator: readonly [{ readonly name: string; readonly files: readonly string[] }]
  readonly images: readonly { readonly name: string; readonly newTag: string }[]
}

const kustomization: Kustomization = parse(read('kustomization.yaml'))
const statefulSet: StatefulSet = parse(read('statefulset.yaml'))
const [clients, peers]: Service[] = parseAllDocuments(read('services.yaml')).map((document) => document.toJS())
const budget: { spec: { maxUnavailable: number; selector: { matchLabels: Labels } } } = parse(
  read('disruption-budget.yaml'),
)
const { spec } = statefulSet.spec.template
const [container] = spec.containers
const config = loadConfig(`${FOLDER}/config.yaml`, { POD_NAME: 'none', SUMMARY_CACHE_TOKEN: 'a-token-for-the-tests' })

describe('the Kubernetes manifests', () => {
  test('are all listed, and each kind is there once it should be', () => {
    expect(kustomization.resources.toSorted()).toEqual(resources.toSorted())
    const kinds = resources.flatMap((file) =>
      parseAllDocuments(read(file)).map((document) => String(document.get('kind'))),
    )
    expect(kinds.toSorted()).toEqual(['PodDisruptionBudget', 'Service', 'Service', 'StatefulSet'])
  })

  test('select the pods by the labels that they have', () => {
    const { labels } = statefulSet.spec.template.metadata
    const selectors = [
      statefulSet.spec.selector.matchLabels,
      clients!.spec.selector,
      peers!.spec.selector,
      budget.spec.selector.matchLabels,
    ]
    for (const selector of selectors) expect(labels).toMatchObject(selector)
    expect(budget.spec.maxUnavailable).toBe(1)
  })

  test('lead to the ports of the configuration', () => {
    const ports = Object.fromEntries(container.ports.map(({ name, containerPort }) => [name, containerPort]))
    expect(ports).toEqual({ proxy: config.listen.port, admin: config.admin.port })
    for (const { spec: service } of [clients!, peers!]) {
      for (const { port, targetPort } of service.ports) expect(port).toBe(ports[targetPort])
    }
    // A probe and a service come from outside the pod.
    expect([config.listen.host, config.admin.host]).toEqual(['0.0.0.0', '0.0.0.0'])
  })

  test('let peers find each other before they are ready, by the names in the configuration', () => {
    expect(peers!.spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true })
    expect(statefulSet.spec.serviceName).toBe(peers!.metadata.name)
    const pods = Array.from({ length: statefulSet.spec.replicas }, (_, i) => `${statefulSet.metadata.name}-${i}`)
    expect(config.peers).toEqual(
      pods.map((pod) => ({ name: pod, url: `http://${pod}.${peers!.metadata.name}:${config.listen.port}` })),
    )
  })

  test('mount the configuration where the command reads it, and the state where it is kept', () => {
    const { configMapGenerator } = kustomization
    const mountOf = (name: string) => container.volumeMounts.find((mount) => mount.name === name)?.mountPath
    const volume = spec.volumes.find(({ configMap }) => configMap !== undefined)
    expect(volume?.configMap?.name).toBe(configMapGenerator[0].name)
    expect(configMapGenerator[0].files).toEqual(['config.yaml'])
    expect(container.args).toEqual(['serve', '--config', `${mountOf(volume!.name)}/config.yaml`])
    expect(mountOf('state')).toBe(config.stateDir)
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(spec.volumes.map(({ name }) => name))
  })

  test('give the variables that the configuration refers to, the token from a secret', () => {
    const referred = [...read('config.yaml').matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
    expect(container.env.map(({ name }) => name)).toEqual(referred)
    expect(container.env[1]!.valueFrom).toEqual({ secretKeyRef: { name: 'summary-cache-token', key: 'token' } })
    expect(read('kustomization.yaml')).toContain(
      'kubectl create secret generic summary-cache-token --from-literal=token=',
    )
  })

  test('ask for health and readiness where both are told without a token', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual([
      { path: '/v1/health', port: 'admin' },
      { path: '/v1/health', port: 'admin' },
      { path: '/v1/ready', port: 'admin' },
    ])
  })

  test('run the image of this version without privileges', () => {
    const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(kustomization.images).toMatchObject([{ name: container.image, newTag: version }])
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })
})
