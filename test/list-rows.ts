import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import type { Db } from '../src/platform/db/sql.ts'

/** Where the rows of an account belong: ids without their prefixes. */
export type RowOwner = {
  readonly account: string
  readonly smsChannel: string
  readonly chatChannel: string
  readonly webhook: string
  /** Group of numbers. */
  readonly group: string
}

/** Contact of the messages: those of a thread. */
export const contact = '+447700900999'

/** The tables that `fillLists` fills. No list may read one from its start. */
export const listedTables: ReadonlySet<string> = new Set([
  'accounts',
  'api_requests',
  'audit',
  'audit_targets',
  'call_clips',
  'caller_ids',
  'calls',
  'contacts',
  'conversation_items',
  'conversation_words',
  'conversations',
  'dead_jobs',
  'documents',
  'events',
  'holds',
  'mails',
  'msgapp_chats',
  'msgapp_dead_letters',
  'msgapp_groups',
  'msgapp_messages',
  'numbers',
  'registrations',
  'sms_channels',
  'sms_messages',
  'sms_opt_outs',
  'sms_sendings',
  'transfers',
  'users',
  'virtual_numbers',
  'webhook_deliveries',
  'webhook_stats',
])

/** A number of the row `n`. */
const number = `'+4479' || lpad(n::text, 8, '0')`
/** Four rows share each second. */
const at = `timestamptz '2026-01-01' + make_interval(secs => n / 4)`

/** SELECTs of the rows. `n` is the row's number, `id` an id that ascends with it. */
const rowsOf = ({ account, smsChannel, chatChannel, webhook, group }: RowOwner): readonly string[] => [
  `audit (account_id, id, at, actor_kind, actor_id, actor_label, action, targets, changes)
    select '${account}', id, ${at}, 'api_key', '${account}', 'filler', 'createUser', array['USR' || n, 'USR7', '${account}'], '[]' from row`,
  `users (account_id, id, first_name, last_name, email, status, created_at)
    select '${account}', id, 'A', 'B', n || '@example.com', 'PENDING_INVITE', ${at} from row`,
  `transfers (account_id, id, debit, credit, amount, kind, created_at)
    select '${account}', id, 'balance', 'sales', 0.04, 'sms', ${at} from row`,
  `mails (account_id, id, recipient, recipient_key, template, state, created_at)
    select '${account}', id, 'customer' || n || '@example.com', 'customer' || n || '@example.com', 'invitation',
      (array['sent', 'failed', 'queued'])[1 + n % 3], ${at} from row`,
  `holds (account_id, id, book, kind, reference, amount, created_at)
    select '${account}', id, 'sales', 'call', 'CDR' || n, 0.04, ${at} from row`,
  `documents (account_id, id, name, kind, media_type, size, created_at)
    select '${account}', id, 'a', 'proof', 'application/pdf', 100, ${at} from row`,
  `virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name, monthly_price,
      ppm, status_text, created_at, expires_at)
    select '${account}', id, ${number}, '${group}', 'GB', '', 'local', 'a', 1, 0, 'ACTIVE', ${at},
      timestamptz '2036-01-01' from row`,
  `sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code, supports_sms_in,
      supports_sms_out, created_at)
    select '${account}', id, id, ${number}, 'a', 'GB', true, true, ${at} from row`,
  `registrations (account_id, virtual_number_id, state, due_at, created_at)
    select '${account}', id, 'approved', ${at}, ${at} from row`,
  `caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, created_at)
    select '${account}', id, ${number}, 'a', 'GB', 'CI', ${at} from row`,
  `sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments, price, status,
      created_at, updated_at)
    select '${account}', id, '${smsChannel}', 'outbound', '${contact}', '+447700900001', 'a', 'gsm7', 1, 0.04,
      'delivered', ${at}, ${at} from row`,
  `sms_opt_outs (account_id, id, number, contact, reason, created_at)
    select '${account}', id, '', ${number}, 'import', ${at} from row`,
  `sms_sendings (account_id, id, state, refused, price, message_ids, job_ids, created_at, updated_at)
    select '${account}', id, 'completed', 0, 0.04, array[id], array[id], ${at}, ${at} from row`,
  `calls (account_id, id, callid, direction, from_number, to_number, iso_country_code, status, is_msgapp, is_trunk,
      caller_id_used, ended_at, created_at)
    select '${account}', id, n::text, 'O', null, ${number}, 'GB', 'COMPLETED', false, true, '', ${at}, ${at} from row`,
  `contacts (account_id, id, first_name, last_name, channel_id, grams, created_at)
    select '${account}', id, 'A', n::text, '${chatChannel}', '{}', ${at} from row`,
  `conversations (account_id, id, counterpart, name, status, last_at, last_item, last_kind, last_direction, last_text,
      last_inbound, waiting_since, created_at)
    select '${account}', id, ${number}, 'A', (array['open', 'snoozed', 'closed'])[1 + n % 3], ${at}, id, 'sms', 'inbound',
      'a', id, case when n % 3 = 0 then ${at} end, ${at} from row`,
  `conversation_items (account_id, conversation_id, id, kind, direction, at)
    select '${account}', '${smsChannel}', id, 'sms', 'inbound', ${at} from row`,
  `conversation_words (account_id, id, conversation_id, kind, words)
    select '${account}', id, id, 'text', array[n % 100] from row`,
  `msgapp_chats (account_id, channel_id, peer, number, last_at, last_message_id)
    select '${account}', '${chatChannel}', '4479' || lpad(n::text, 8, '0') || '@c.us', ${number}, ${at}, id from row`,
  `msgapp_messages (account_id, id, channel_id, peer, direction, sent_by, text, at, created_at, updated_at)
    select '${account}', id, '${chatChannel}', '447900000001@c.us', 'inbound', 'user', 'a', ${at}, ${at}, ${at} from row`,
  `msgapp_groups (account_id, id, channel_id, name, created_at, updated_at)
    select '${account}', id, '${chatChannel}', 'a', ${at}, ${at} from row`,
  `msgapp_dead_letters (account_id, id, channel_id, what, content, digest, reason, created_at)
    select '${account}', id, '${chatChannel}', 'inbound', '[]', uuid_send(id), 'a', ${at} from row`,
  `dead_jobs (account_id, id, kind, payload, run_at, fence, attempts, created_at, died_at)
    select '${account}', id, (array['sms', 'filler'])[1 + n % 2], '{}', ${at}, 1, 1, ${at}, ${at} from row`,
  `call_clips (account_id, id, name, media_id, media_type, size, created_at)
    select '${account}', id, 'a', id, 'audio/mpeg', 1, ${at} from row`,
  `events (account_id, id, name, payload, created_at)
    select '${account}', id, 'contact.created', '{}', ${at} from row`,
  `api_requests (account_id, id, at, request_id, key_id, method, route, status, ms)
    select '${account}', id, ${at}, 'req_' || n, id, 'GET', '/open/info', 200, 1 from row`,
  `webhook_stats (account_id, webhook_id, hour, delivered, failed, latencies)
    select '${account}', id, ${at}, 1, 0, '{1}' from row`,
  `webhook_deliveries (account_id, webhook_id, event_id, state, created_at)
    select '${account}', '${webhook}', id, 'delivered', ${at} from row`,
]

/** Rows of the installation. */
const installationRows = ({ account, group }: RowOwner): readonly string[] => [
  `accounts (id, name, requests_per_minute, created_at)
    select id, 'Customer ' || n, 60, ${at} from row`,
  `balances (account_id) select id from row`,
  `rate_limit_usage (account_id, tokens) select id, 60 from row`,
  `numbers (number, group_id, state, shuffle, account_id)
    select ${number}, '${group}', 'owned', n, '${account}' from row`,
]

/**
 * Adds the rows after `from`, up to `to`, to every table of a list, without triggers and foreign keys.
 * @param withInstallation also adds accounts and numbers of the inventory
 * @param tables the lists' tables that are filled. Default: all
 */
export const fillLists = async (
  db: Db,
  owner: RowOwner,
  {
    from,
    to,
    withInstallation = false,
    tables = listedTables,
  }: { from: number; to: number; withInstallation?: boolean; tables?: ReadonlySet<string> },
): Promise<void> => {
  const all = [...rowsOf(owner), ...(withInstallation ? installationRows(owner) : [])]
  const row = `with row as (
    select n, (lpad(to_hex(n), 8, '0') || substr('${owner.account}', 9))::uuid as id
    from generate_series(${from + 1}, ${to}) n)`
  for (const text of all) {
    const [table = ''] = text.split(' (', 1)
    if (listedTables.has(table) && !tables.has(table)) continue
    const [columns = '', rows = ''] = text.split(/\n? +(?=select)/, 2)
    await db.begin(async (tx) => {
      await tx.raw("set local session_replication_role = 'replica'")
      await tx.raw(`insert into ${columns} ${row} ${rows}`)
    })
    await db.raw(`vacuum (analyze) ${quoteIdentifier(table)}`)
  }
}
