import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../../platform/http/schema.ts'

export const listUnparsedReceipts = contract({
  auth: 'operator',
  shape: 'full',
  tag: 'Operator: connections',
  id: 'listUnparsedReceipts',
  client: 'connections.unparsedReceipts',
  method: 'GET',
  url: '/operator/connections/:connection_uuid/unparsed-receipts',
  summary: 'Receipts of a carrier that could not be read, newest first: at most 100, of the last 30 days',
  description:
    'Shows the octets as they came. The state of an unknown word can be set by receipt_states of the connection.',
  params: Type.Object({ connection_uuid: Id('CNX') }),
  status: 200,
  reply: Ok({
    receipts: Type.Array(
      Named(
        'UnparsedReceipt',
        Type.Object({
          received_at: Time,
          reason: Enum(['no_id', 'unknown_state'], {
            description:
              'no_id: it names no message, and had no effect. unknown_state: its message got the state unknown',
          }),
          from: Type.String({ description: 'Source: mostly the handset', examples: ['+447911123456'] }),
          to: Type.String({ examples: ['+447700900001'] }),
          text: Confidential(
            Type.String({ description: 'The octets as ASCII; others are dots', examples: ['id:7b stat:PARKED'] }),
          ),
          octets: Confidential(
            Type.String({ description: 'In hexadecimal; at most 1,024 octets', examples: ['69643a3762'] }),
          ),
          fields: Type.Record(Type.String(), Type.String(), {
            description: 'esm_class, data_coding and the optional parameters, in hexadecimal',
          }),
        }),
      ),
    ),
  }),
  errors: { notFound: 'No such connection' },
  cli: 'connections unparsed-receipts',
})
