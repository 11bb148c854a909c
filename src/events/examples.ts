import { iso, seconds } from '../lib/clock.ts'
import type { EventName } from './names.ts'

type Payload = { readonly [key: string]: unknown }

const exampleId = '01a1fcca-93ab-7cbc-9f10-be702f775479'
const [ours, theirs] = ['+447911123456', '+447700900123']
const exampleTime = Date.UTC(2026, 10, 21, 6, 20)

/**
 * What subscribers get for an event, but for `event`, and `uuid` where it has none of its own: for the documentation, for
 * the test of a webhook, and for sandbox events.
 * @param id that the ids within are made of, without prefix
 * @param at Unix milliseconds
 */
export const exampleOf = (name: EventName, id = exampleId, at = exampleTime): Payload => {
  const [time, end] = [iso(at), iso(at + 42_000)]
  const channel = `WPN${id}`

  const sms = {
    destination: theirs,
    source: ours,
    text: 'Hello from Trunkline',
    price: 0.04,
    voip_number_setup_id: 1,
    channel_uuid: `SMS${id}`,
    created_at: time,
    updated_at: time,
    timestamp: seconds(at),
  }
  const sent = { ...sms, uuid: `SMO${id}`, direction: 'outbound', fragments: 1 }

  const call = {
    uuid: `CDR${id}`,
    account_uuid: `ACC${id}`,
    callid: id,
    active: false,
    iso_country_code: 'GB',
    status: 'COMPLETED',
    is_msgapp_call: false,
    is_sip_trunk_call: true,
    caller_id_uuid: `VCI${id}`,
    duration: 42,
    created_at: time,
    updated_at: time,
    start_time: time,
    end_time: end,
    call_cost: {
      callid: id,
      forwarded: false,
      toll_free: false,
      start_dt: time,
      end_dt: end,
      duration: 60,
      call_price: 0.01,
    },
  }
  const incoming = {
    ...call,
    direction: 'I',
    from: theirs,
    to_number: ours,
    caller_id_used: theirs,
    received_on_number: ours,
    received_on_number_uuid: `DID${id}`,
  }
  const outgoing = { ...call, direction: 'O', from: `USR${id}`, to_number: theirs, caller_id_used: ours }

  /** `created_at` of these has no zone: one kind of receiver parses exactly this (completions.md part 1). */
  const message = {
    id: `MSG${id}`,
    uuid: `MSG${id}`,
    channel_uuid: channel,
    timestamp: time,
    session_key: `WW-${channel}-447700900123@c.us`,
    message: { text: 'Hello back' },
    created_at: time.slice(0, 19),
    remote_phone_number: theirs,
    participant: { phone_number: theirs },
    channel_phone_number: ours,
    sent_by: 'user',
    is_from_flow_run: false,
    is_from_api: false,
    is_from_chatter: true,
    is_from_agent: false,
    wa_msg_id: '3EB0C431D26A1916E07A',
    wa_msg_ack: 2,
    sent: true,
    received: true,
    read: false,
    contact: { uuid: `CON${id}`, first_name: 'Ada', last_name: 'Lovelace', profile_pic_url: null },
  }
  const written = {
    ...message,
    message: { text: 'Hello from Trunkline' },
    participant: { phone_number: ours },
    sent_by: 'api',
    is_from_api: true,
    is_from_chatter: false,
    wa_msg_ack: 1,
    received: false,
  }

  const group = {
    channel_uuid: channel,
    channel_phone_number: ours,
    group_uuid: `WAG${id}`,
    wa_group_id: '120363025246125486@g.us',
    name: 'Book club',
  }
  const chatCall = { channel_uuid: channel, channel_phone_number: ours, remote_phone_number: theirs, created_at: time }

  const number = {
    uuid: `DID${id}`,
    account_uuid: `ACC${id}`,
    phone_number: ours,
    formatted_phone_number: '+44 7911 123456',
    iso_country_code: 'GB',
    friendly_name: 'Support',
    status: 1,
    created_at: time,
    updated_at: time,
  }

  const contact = {
    uuid: `CON${id}`,
    first_name: 'Ada',
    last_name: 'Lovelace',
    profile_pic_url: null,
    details: [{ id: 1, value: theirs, type: 'PH', created_at: seconds(at), updated_at: 0 }],
    last_updated: time,
  }

  const all: { readonly [Name in EventName]: Payload } = {
    'sms.message.received': {
      ...sms,
      uuid: `SMI${id}`,
      destination: ours,
      source: theirs,
      text: 'Hello back',
      price: 0,
      direction: 'inbound',
      status: 'received',
    },
    'sms.message.sent': { ...sent, status: 'sent' },
    'sms.message.delivered': { ...sent, status: 'delivered' },
    'sms.message.failed': { ...sent, status: 'undelivered', error_code: 'undeliv' },
    'call.status.update': { ...incoming, active: true, status: 'RINGING' },
    'call.incoming.completed': incoming,
    'call.outbound.completed': outgoing,
    'msgapp.message.new': message,
    'msgapp.message.received': message,
    'msgapp.message.sent': written,
    'msgapp.message.failed': {
      ...written,
      wa_msg_ack: 0,
      sent: false,
      failure: { code: 'refused', reason: 'The number is not on the network' },
    },
    'msgapp.message.reaction': { ...message, reaction: '👍' },
    'msgapp.message.edited': {
      ...message,
      message: { text: 'Hello back again' },
      edited: true,
      edited_at: time,
      previous_text: 'Hello back',
    },
    'msgapp.message.receipt.sent': written,
    'msgapp.message.receipt.received': { ...written, wa_msg_ack: 2, received: true },
    'msgapp.message.receipt.read': { ...written, wa_msg_ack: 3, received: true, read: true, read_at: time },
    'msgapp.conversation.new': message,
    'msgapp.call.received': { ...chatCall, direction: 'I' },
    'msgapp.call.made': { ...chatCall, direction: 'O' },
    'msgapp.group.message.received': { ...message, group_uuid: `WAG${id}` },
    'msgapp.group.join': { ...group, participants: [theirs] },
    'msgapp.group.leave': { ...group, participants: [theirs] },
    'msgapp.group.remove': { ...group, participants: [theirs] },
    'msgapp.number.status': { channel_uuid: channel, phone_number: ours, connection_status: 'C' },
    'number.purchased': number,
    'number.released': { ...number, status: 4 },
    'number.suspended': { ...number, status: 3, reason: 'requirements' },
    'contact.created': contact,
    'contact.updated': contact,
    'balance.low': { amount: '4.200000', currency: 'USD' },
    'msgapp.check.completed': {
      ...{ state: 'completed', total: 1, checked: 1, created_at: time, updated_at: time },
      results: { [theirs]: { is_valid: true, on_msgapp: true } },
    },
  }
  return all[name]
}
