import { extensionPattern } from '@trunkline/phone/extension.ts'
import { Type } from 'typebox'
import { Enum, Id, Named, Time } from '../../platform/http/schema.ts'
import { schemasOf } from './contact-fields.ts'
import { detailTypes } from './details.ts'
import { maxDetails, maxExtensionLength, maxLabelLength } from './limits.ts'

export const DetailKind = Enum([...detailTypes], {
  description: 'E e-mail address, A physical address, PH phone number, WAPH phone number on the messaging app',
})

const labelText = 'Label of the detail: mobile, work, home, main, other, or any text'
const extensionText = 'Dialled after the number: digits, with `,` `p` `w` `;` for pauses, or `x123` or `;ext=123`'

/** A contact in replies and events. */
export const Contact = Named(
  'Contact',
  Type.Object({
    uuid: Id('CON'),
    ...schemasOf('reply'),
    channel_uuid: Type.Optional(Id('WPN')),
    sync: Type.Optional(
      Named(
        'ContactSync',
        Type.Object(
          {
            state: Enum(['queued', 'synced', 'failed', 'not_supported']),
            error: Type.Optional(Type.String()),
            synced_at: Type.Optional(Time),
          },
          { description: 'State of the contact in the address book of its channel' },
        ),
      ),
    ),
    details: Type.Array(
      Named(
        'ContactDetail',
        Type.Object({
          id: Type.Integer(),
          value: Type.String({ description: 'Phone numbers in E.164', examples: ['+447700900123'] }),
          type: DetailKind,
          label: Type.Optional(Type.String({ description: labelText, examples: ['work'] })),
          extension: Type.Optional(Type.String({ description: extensionText, examples: [',,4711#'] })),
          created_at: Type.Integer({ description: 'Unix seconds' }),
          updated_at: Type.Integer({ description: 'Unix seconds; 0: never' }),
        }),
      ),
    ),
    blocked: Type.Boolean({ description: 'Texts and calls of its numbers reach no one' }),
    blocked_at: Type.Optional(Time),
    created_at: Time,
    last_updated: Time,
  }),
)

const SubmittedDetail = Named(
  'NewContactDetail',
  Type.Object({
    type: DetailKind,
    value: Type.String({ minLength: 1, maxLength: 500, examples: ['+447700900123'] }),
    label: Type.Optional(
      Type.Union([
        Type.String({
          maxLength: maxLabelLength,
          pattern: '^[^\\p{Cc}]*$',
          description: `${labelText}. Absent: as it is; null: none`,
          examples: ['work'],
        }),
        Type.Null(),
      ]),
    ),
    extension: Type.Optional(
      Type.Union([
        Type.String({
          maxLength: maxExtensionLength,
          pattern: extensionPattern,
          description: `${extensionText}. Absent: as it is; null: none`,
          examples: [',,4711#'],
        }),
        Type.Null(),
      ]),
    ),
  }),
)

/** Some clients send an empty object instead of leaving the field out. */
export const Details = Type.Union([
  Type.Array(SubmittedDetail, { minItems: 1, maxItems: maxDetails }),
  Named('NoContactDetails', Type.Object({}, { maxProperties: 0 })),
])

export const Channel = Type.Union([Id('WPN', 'A channel of the messaging app'), Type.Null()])
