import { Type } from 'typebox'
import type { PeerChange, ProxyControl } from '../../../proxy/proxy-control.ts'
import type { PeerView } from '../../../proxy/views.ts'
import type { AdminApp } from '../admin-app.ts'
import { inputProblem, namedProblem } from '../problem.ts'
import type { ProblemError } from '../problem.ts'
import { answer } from '../schemas/building-blocks.ts'
import {
  PeerNameSchema,
  PeerSchema,
  PeersSchema,
  PeerUrlSchema,
  TransportSchema,
  UpdatesAddressSchema,
} from '../schemas/peer-schemas.ts'
import { REFUSALS, problems } from '../schemas/problem-schema.ts'

const NewPeerSchema = Type.Object(
  {
    name: PeerNameSchema,
    url: PeerUrlSchema,
    transport: Type.Optional(TransportSchema),
    updates: Type.Optional(UpdatesAddressSchema),
  },
  { additionalProperties: false },
)
const NewAddressSchema = Type.Object(
  { url: PeerUrlSchema, updates: Type.Optional(UpdatesAddressSchema) },
  { additionalProperties: false },
)
const NameParamsSchema = Type.Object({ name: PeerNameSchema })

export function peerRoutes(app: AdminApp, control: ProxyControl): void {
  app.get(
    '/v1/peers',
    {
      schema: {
        operationId: 'listPeers',
        summary: 'Every peer and how its digest has guessed',
        tags: ['peers'],
        response: { 200: answer('Now.', PeersSchema), ...REFUSALS },
      },
    },
    () => ({ peers: control.peers() }),
  )

  app.post(
    '/v1/peers',
    {
      schema: {
        operationId: 'addPeer',
        summary: 'Add a peer until the next start',
        tags: ['peers'],
        body: NewPeerSchema,
        response: { 201: answer('Added.', PeerSchema), ...problems(400, 409, 413, 415), ...REFUSALS },
      },
    },
    (request, reply) => {
      const { name, transport, updates } = request.body
      const change = control.addPeer({
        name,
        url: peerUrl(request.body.url),
        ...(transport && { transport }),
        ...(updates !== undefined && { updates: updatesAddress(updates) }),
      })
      if (change !== 'done') throw refused(change, name)
      void reply.code(201).header('location', `/v1/peers/${name}`)
      return peerOf(control, name)
    },
  )

  app.get(
    '/v1/peers/:name',
    {
      schema: {
        operationId: 'getPeer',
        summary: 'A peer and how its digest has guessed',
        tags: ['peers'],
        params: NameParamsSchema,
        response: { 200: answer('Now.', PeerSchema), ...problems(400, 404), ...REFUSALS },
      },
    },
    (request) => peerOf(control, request.params.name),
  )

  app.put(
    '/v1/peers/:name',
    {
      schema: {
        operationId: 'changePeer',
        summary: 'Give a peer another address until the next start',
        description: 'Its replica starts anew.',
        tags: ['peers'],
        params: NameParamsSchema,
        body: NewAddressSchema,
        response: { 200: answer('Changed.', PeerSchema), ...problems(400, 404, 409, 413, 415), ...REFUSALS },
      },
    },
    (request) => {
      const { name } = request.params
      const { updates } = request.body
      const url = peerUrl(request.body.url)
      const change = control.changePeer(name, url, updates === undefined ? undefined : updatesAddress(updates))
      if (change !== 'done') throw refused(change, name)
      return peerOf(control, name)
    },
  )

  app.delete(
    '/v1/peers/:name',
    {
      schema: {
        operationId: 'removePeer',
        summary: 'Remove a peer until the next start',
        tags: ['peers'],
        params: NameParamsSchema,
        response: { 204: Type.Null({ description: 'Removed.' }), ...problems(400, 404, 409), ...REFUSALS },
      },
    },
    (request, reply) => {
      const { name } = request.params
      const change = control.removePeer(name)
      if (change !== 'done') throw refused(change, name)
      void reply.code(204).send(null)
    },
  )
}

function peerOf(control: ProxyControl, name: string): PeerView {
  const peer = control.peers().find((candidate) => candidate.name === name)
  if (peer === undefined) throw refused('unknown-peer', name)
  return peer
}

/** In the form that a URL parser gives it, without a closing slash: `http://host:port`, or with https. */
function peerUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || url.hostname === '') {
    throw inputProblem([{ in: 'body', name: 'url', problem: 'must be http://host:port or https://host:port' }])
  }
  return url.origin
}

function updatesAddress(text: string): string {
  const port = Number(text.slice(text.lastIndexOf(':') + 1))
  if (!URL.canParse(`udp://${text}`) || port < 1) {
    throw inputProblem([{ in: 'body', name: 'updates', problem: 'must be host:port' }])
  }
  return text.toLowerCase()
}

function refused(change: Exclude<PeerChange, 'done'>, name: string): ProblemError {
  switch (change) {
    case 'unknown-peer':
      return namedProblem(404, change, 'Unknown peer', `There is no peer named ${name}`)
    case 'name-taken':
      return namedProblem(409, change, 'Name taken', `There is a peer named ${name} already`)
    case 'too-many-peers':
      return namedProblem(409, change, 'Too many peers', 'There is no room for another peer')
    case 'transport-off':
      return namedProblem(
        409,
        change,
        'Transport off',
        'The configuration has no dirUpdate section: set one and restart',
      )
    case 'updates-address':
      return namedProblem(
        409,
        change,
        'Updates address',
        'A peer has an address for updates when its transport takes them, and only then',
      )
    case 'own-name':
      return namedProblem(409, change, 'Own name', `${name} is this proxy's own name`)
  }
}
