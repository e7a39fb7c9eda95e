import { Type } from 'typebox'
import { component, count } from './building-blocks.ts'

export const IcpSchema = component(
  'IcpCounts',
  Type.Object(
    {
      messagesPaper: count('Queries.'),
      messagesFull: count('Queries and replies.'),
      bytes: count('Of queries and replies.'),
    },
    { description: 'What ICP would have cost for the same local misses.' },
  ),
)
