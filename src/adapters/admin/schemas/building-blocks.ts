import { Type } from 'typebox'
import type { Static, TSchema } from 'typebox'

// The API's schemas are the answers' serializers, the requests' validators and the OpenAPI document alike.

/** A schema with a name of its own among the document's components. */
export type Component = TSchema & { readonly $id: string }

export function component<T extends TSchema>(name: string, schema: T): T & { readonly $id: string } {
  return Object.assign(schema, { $id: name })
}

/** Refers to a component by its name, with its type. */
export function ref<T extends Component>(target: T) {
  return Type.Unsafe<Static<T>>({ $ref: `${target.$id}#` })
}

export function count(description: string) {
  return Type.Integer({ minimum: 0, description })
}

export function share(description: string) {
  return Type.Number({ minimum: 0, maximum: 1, description })
}

export function milliseconds(description: string) {
  return Type.Number({ description: `${description} In milliseconds.` })
}

export function oneOf<const T extends string>(values: readonly T[], description: string) {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], description })
}

export function listOf<T extends TSchema>(items: T, description: string) {
  return Type.Immutable(Type.Array(items, { description }))
}

export function nullable<T extends Component>(target: T) {
  return Type.Union([ref(target), Type.Null()])
}

/** A number per key; every key is always there. */
export function countEach<const K extends string>(keys: readonly K[], description: string) {
  const properties = Object.fromEntries(keys.map((key) => [key, Type.Integer({ minimum: 0 })]))
  return Type.Unsafe<Readonly<Record<K, number>>>(Type.Object(properties, { description }))
}

/** A JSON response, for the `response` part of a route's schema. */
export function answer<T extends Component>(description: string, target: T) {
  return { description, content: { 'application/json': { schema: ref(target) } } }
}
