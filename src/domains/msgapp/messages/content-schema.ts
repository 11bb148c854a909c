import { type TProperties, Type } from 'typebox'
import { Enum, Id, Named } from '../../../platform/http/schema.ts'

// Structured content of messages: a union by `kind`.

/** A location to send. */
export const Pin = Named(
  'Location',
  Type.Object({
    latitude: Type.Number({ minimum: -90, maximum: 90, examples: [51.5007] }),
    longitude: Type.Number({ minimum: -180, maximum: 180, examples: [-0.1246] }),
    name: Type.Optional(Type.String({ maxLength: 200 })),
    address: Type.Optional(Type.String({ maxLength: 400 })),
    url: Type.Optional(Type.String({ maxLength: 2048 })),
  }),
)

/**
 * A location as stored. It has no limits: senders keep none, and a reply that breaks its schema within a union is
 * answered 500.
 */
export const MessagePin = Named(
  'MessageLocation',
  Type.Object({
    latitude: Type.Number({ examples: [51.5007] }),
    longitude: Type.Number({ examples: [-0.1246] }),
    name: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
  }),
)

const text = (description?: string) => Type.Optional(Type.String(description === undefined ? {} : { description }))

const Quoted = Named(
  'QuotedMessage',
  Type.Object({
    wa_msg_id: Type.String({ description: 'Id of the quoted message on the network' }),
    message_uuid: Type.Optional(
      Id('MSG', 'The quoted message; absent if it was deleted, or is not known in this conversation'),
    ),
    sent_by: Type.Optional(Enum(['user', 'api', 'agent'])),
    text: text('Its text, at most 300 characters'),
  }),
)

const Product = Named('ProductReference', Type.Object({ catalog_id: text(), product_retailer_id: text() }))

const Referral = Named(
  'MessageReferral',
  Type.Object(
    {
      source_url: text(),
      source_type: text('ad or post'),
      source_id: text(),
      headline: text(),
      body: text(),
      media_type: text(),
      image_url: text(),
      video_url: text(),
      thumbnail_url: text(),
      ctwa_clid: text('Click id, for conversions of advertisements'),
      welcome_message: text(),
    },
    { description: 'The advertisement or post from which the person wrote' },
  ),
)

/** Content of any kind may quote a message, or refer to a product or an advertisement. */
const references = {
  quoted: Type.Optional(Quoted),
  product: Type.Optional(Product),
  referral: Type.Optional(Referral),
}

const content = <const K extends string, P extends TProperties>(
  kind: K,
  name: string,
  description: string,
  fields: P,
) => Named(name, Type.Object({ kind: Type.Literal(kind), ...fields, ...references }, { description }))

const Card = Named(
  'ContactCard',
  Type.Object({
    name: Type.Object({ formatted_name: text(), first_name: text(), middle_name: text(), last_name: text() }),
    phones: Type.Array(
      Type.Object({
        phone: Type.String({ description: 'As the sender wrote it' }),
        type: text(),
        wa_id: text('Its id on the network'),
      }),
    ),
    emails: Type.Array(Type.Object({ email: Type.String(), type: text() })),
    org: Type.Optional(Type.Object({ company: text(), department: text(), title: text() })),
  }),
)

const OrderedProduct = Named(
  'OrderedProduct',
  Type.Object({
    product_retailer_id: text(),
    quantity: Type.Optional(Type.Number()),
    item_price: Type.Optional(Type.Number({ description: 'Price of one' })),
    currency: text('ISO 4217'),
  }),
)

/** `message.content`. */
export const Content = Type.Union(
  [
    content('quote', 'QuoteContent', 'A message that quotes another one, or asks about a product', {}),
    content('button', 'ButtonContent', 'The button of a template was pressed', {
      text: text(),
      payload: text('Your id of the button'),
    }),
    content('reply', 'ReplyContent', 'A reply button, or a row of a list, was chosen', {
      type: Enum(['button', 'list']),
      id: Type.String({ description: 'Your id of the choice' }),
      title: text(),
      description: text(),
    }),
    content('flow', 'FlowContent', 'A form was completed', {
      name: text(),
      body: text(),
      answers: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'By field' })),
      response_json: text('The answers as they came, where they are no JSON object'),
    }),
    content('contacts', 'ContactsContent', 'Contact cards', { contacts: Type.Array(Card) }),
    content('location', 'LocationContent', 'A location, the same as pin', MessagePin.properties),
    content('order', 'OrderContent', 'Products that the person orders', {
      catalog_id: text(),
      text: text('Words of the person'),
      products: Type.Array(OrderedProduct),
    }),
    content('referral', 'ReferralContent', 'A message from an advertisement or post', {}),
    content('unsupported', 'UnsupportedContent', 'A kind of message that has no form here, as the network sent it', {
      type: Type.String({ description: 'The network’s name of the kind' }),
      payload: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      is_truncated: Type.Optional(
        Type.Literal(true, { description: 'The content was larger than 128 KiB, and was left out' }),
      ),
    }),
  ],
  { description: 'Structured content, which the text summarises, by kind' },
)
