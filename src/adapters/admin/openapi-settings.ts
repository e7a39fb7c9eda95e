import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'

/** Of the API, not of the program: raised when a route or a schema changes. */
const API_VERSION = '1.0.0'

export const OPENAPI: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'summary-cache administration',
      version: API_VERSION,
      description:
        'Looks into a caching proxy that shares what it holds by Bloom-filter digests, and tells it what to do. ' +
        'Errors are problem details (RFC 9457).',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: [
      { name: 'proxy', description: 'The proxy itself' },
      { name: 'peers', description: 'The other proxies that this one asks' },
      { name: 'digests', description: 'What is claimed, and how well' },
      { name: 'cache', description: 'What is stored' },
      { name: 'figures', description: 'What has happened' },
    ],
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: "The configuration's administration token, if it has one.",
        },
      },
    },
    security: [{ bearer: [] }],
  },
  convertConstToEnum: false,
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, index) =>
      typeof json['$id'] === 'string' ? json['$id'] : `def-${index}`,
  },
}
