import type { Component } from './building-blocks.ts'
import { EntriesSchema, EntrySchema, ExplanationSchema, PurgedSchema } from './cache-schemas.ts'
import { DigestsSchema, GeometrySchema, OwnDigestSchema, PublishedSchema, ReplicaSchema } from './digest-schemas.ts'
import { EventSchema } from './event-schema.ts'
import { IcpSchema } from './icp-schema.ts'
import { GuessesSchema, PeerAccountSchema, PeerSchema, PeersSchema } from './peer-schemas.ts'
import { ProblemSchema } from './problem-schema.ts'
import { ClusterMemberSchema, ClusterSchema, InterCacheSchema, StatisticsSchema } from './statistics-schemas.ts'
import { HealthSchema, ReadinessSchema, StatusSchema, StoreSchema } from './status-schemas.ts'

/** Every schema that others refer to by its name. */
export const COMPONENTS: readonly Component[] = [
  ProblemSchema,
  HealthSchema,
  ReadinessSchema,
  StatusSchema,
  StoreSchema,
  PeersSchema,
  PeerSchema,
  GuessesSchema,
  PeerAccountSchema,
  DigestsSchema,
  OwnDigestSchema,
  ReplicaSchema,
  GeometrySchema,
  PublishedSchema,
  EntriesSchema,
  EntrySchema,
  PurgedSchema,
  ExplanationSchema,
  StatisticsSchema,
  InterCacheSchema,
  IcpSchema,
  ClusterSchema,
  ClusterMemberSchema,
  EventSchema,
]
