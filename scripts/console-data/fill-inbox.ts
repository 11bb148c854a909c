import { add, emptyDraft } from '../../src/domains/contacts/ops.ts'
import { hashesOf, nameHashesOf } from '../../src/domains/inbox/words.ts'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import type { Db } from '../../src/platform/db/sql.ts'
import { uuid } from '../../src/platform/lib/id.ts'

/** Sizes of the data. */
export type InboxSizes = {
  readonly conversations: number
  /** Open conversations; the others are closed. */
  readonly open: number
  readonly texts: number
  readonly members: number
  readonly contacts: number
}

/** The sizes of the acceptance checks. */
export const acceptanceSizes: InboxSizes = {
  conversations: 500_000,
  open: 100_000,
  texts: 1_000_000,
  members: 50,
  contacts: 2_000,
}

const firstNames = ['Ada', 'Grace', 'Katherine', 'Alan', 'Edsger', 'Barbara', 'Donald', 'Radia', 'Linus', 'Margaret']
const lastNames = ['Lovelace', 'Hopper', 'Johnson', 'Turing', 'Dijkstra', 'Liskov', 'Knuth', 'Perlman', 'Hamilton']
const vocabulary = `the number order ported yet invoice please call me back today tomorrow morning café delivery address
  thanks account question about my plan message arrived late refund received card declined change appointment`
  .split(/\s+/)
  .filter(Boolean)

const pick = <T>(list: readonly T[], n: number): T => {
  const found = list[n % list.length]
  if (found === undefined) throw new Error('an empty list')
  return found
}

/** A text of seven words: one of half of all texts, five common ones, and a rare one. */
const sentence = (n: number): string =>
  [
    n % 2 === 0 ? 'hello' : 'good',
    ...[7, 11, 13, 17, 19].map((step) => pick(vocabulary, n * step + (n >> 3))),
    `ref${n}`,
  ].join(' ')

/** A number of the conversation `n`, in SQL. */
const numberOf = "'+447' || lpad(n::text, 9, '0')"

/** The end of the year of the data. All statements count from it: the id of a text is made more than once. */
const end = `timestamptz '${new Date().toISOString()}'`
const momentOf = (total: number) => `(${end} - interval '366 days' + n * interval '365 days' / ${total})`

/** An id of a moment, a year ago and later, that ascends with `n` of `total`. */
const idOf = (
  total: number,
  offset = 0,
) => `(lpad(to_hex((extract(epoch from ${momentOf(total)}) * 1000)::bigint + ${offset}), 12, '0')
  || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid`

const inParts = async (count: number, size: number, work: (from: number, to: number) => Promise<unknown>) => {
  for (let from = 0; from < count; from += size) await work(from, Math.min(count, from + size))
}

/** Texts of which rows take one each, with the hashes of their words. */
const prepareTexts = async (db: Db, account: string, count: number) => {
  await db.raw('create unlogged table console_data_texts (n integer primary key, text text, words integer[])')
  await inParts(count, 5_000, (from, to) => {
    const texts = Array.from({ length: to - from }, (_, i) => sentence(from + i))
    const words = texts.map((text) => `{${hashesOf(account, text).join()}}`)
    return db.run`
      insert into console_data_texts select ${from}::integer + n::integer - 1, text, words::integer[]
      from unnest(${texts}::text[], ${words}::text[]) with ordinality t (text, words, n)`
  })
}

/** Gives the account a number with SMS. @returns the id of the channel */
const makeChannel = async (db: Db, account: string): Promise<string> => {
  const known = await db.maybe<{ id: string }>`
    select id from sms_channels where account_id = ${account} and enabled order by created_at, id limit 1`
  if (known) return known.id
  const [did, channel] = [uuid(), uuid()]
  const phone = `+44770090${String(Math.floor(Math.random() * 10_000)).padStart(4, '0')}`
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    values (${account}, ${did}, ${phone}, 'data', 'GB', '', 'mobile', 'Support', 1, 0, 'ACTIVE', 'infinity')`
  await db.run`
    insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
      supports_sms_in, supports_sms_out)
    values (${account}, ${channel}, ${did}, ${phone}, 'Support', 'GB', true, true)`
  return channel
}

/** Adds contacts, of the numbers of the latest conversations. */
const addContacts = (db: Db, account: string, { contacts, conversations }: InboxSizes) =>
  inParts(contacts, 200, (from, to) =>
    db.begin(async (tx) => {
      const drafts = Array.from({ length: to - from }, (_, i) => {
        const value = `+447${String(conversations - from - i).padStart(9, '0')}`
        const n = from + i
        return {
          ...emptyDraft,
          first_name: pick(firstNames, n),
          last_name: `${pick(lastNames, n >> 2)} ${n}`,
          details: [{ type: 'PH' as const, value, key: value, label: null, extension: null }],
        }
      })
      await add(tx, account, drafts, true)
      await tx.run`select contacts_adjust_count(${account}, ${to - from}::bigint, ${1_000_000_000}::bigint)`
    }),
  )

const addMembers = (db: Db, account: string, members: number) =>
  db.raw(
    `insert into users (account_id, id, first_name, last_name, email, status, role)
     select $1::uuid, gen_random_uuid(), (string_to_array('${firstNames.join()}', ','))[1 + n % ${firstNames.length}], 'Agent ' || n,
       'agent.' || n || '.' || left($1::uuid::text, 8) || '@example.com', 'ACTIVE', 'agent' from generate_series(1, ${members}) n`,
    [account],
  )

type Report = (line: string) => void

/** Adds texts, from the oldest to the newest, to the conversations in turn. */
const addTexts = (
  db: Db,
  account: string,
  channel: string,
  { texts, conversations }: InboxSizes,
  { kinds, report }: { kinds: number; report: Report },
) =>
  inParts(texts, 100_000, async (from, to) => {
    // The first turn of every conversation is inbound, the second one an answer.
    const rows = `select n, ${idOf(texts)} as id, ${momentOf(texts)} as at, 1 + n % ${conversations} as c,
      case when (n / ${conversations}) % 2 = 0 then 'inbound' else 'outbound' end as direction, n % ${kinds} as t
      from generate_series(${from}, ${to - 1}) n`
    await db.raw(
      `insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments,
         status, created_at, updated_at)
       select $1::uuid, r.id, $2::uuid, r.direction, '+447' || lpad(r.c::text, 9, '0'), (select phone_number from sms_channels where account_id = $1::uuid and id = $2::uuid),
         t.text, 'gsm7', 1, case when r.direction = 'inbound' then 'received' else 'delivered' end, r.at, r.at
       from (${rows}) r join console_data_texts t on t.n = r.t order by r.n`,
      [account, channel],
    )
    report(`${to} of ${texts} texts`)
  })

/**
 * Lets the index of words take new rows in bulk, and sorts them in at the end of each part. One by one, a part of 100,000
 * texts took minutes: they have 3.5 million hashes.
 */
const inBulk = async (db: Db, work: (sortIn: () => Promise<unknown>) => Promise<void>): Promise<void> => {
  const sortIn = () =>
    db.raw(`set maintenance_work_mem = '1GB'; select gin_clean_pending_list('conversation_words_by_word');
      reset maintenance_work_mem`)
  await db.raw('alter index conversation_words_by_word set (fastupdate = on, gin_pending_list_limit = 2097151)')
  try {
    await work(sortIn)
  } finally {
    await db.raw(`alter index conversation_words_by_word reset (gin_pending_list_limit);
      alter index conversation_words_by_word set (fastupdate = off)`)
    await sortIn()
  }
}

/** Adds the conversations of the texts. */
const addConversations = async (db: Db, account: string, channel: string, sizes: InboxSizes, report: Report) => {
  const { conversations, open } = sizes
  await inParts(conversations, 50_000, async (from, to) => {
    const newest = `(select id, created_at, direction, text, channel_id from sms_messages m
      where m.account_id = $1::uuid and m.contact = ${numberOf} and m.channel_id = $2::uuid order by created_at desc, id desc limit 1)`
    await db.raw(
      `insert into conversations (account_id, id, counterpart, name, status, assignee_id, priority, last_at, last_item,
         last_kind, last_direction, last_text, last_channel, last_inbound, waiting_since, closed_at, created_at)
       select $1::uuid, ${idOf(conversations, 1)}, ${numberOf}, ${numberOf}, s.status, u.id, case when n % 50 = 0 then 1 else 0 end, m.created_at,
         m.id, 'sms', m.direction, m.text, m.channel_id, case when m.direction = 'inbound' then m.id end,
         case when s.status = 'open' and n % 3 = 0 then m.created_at end,
         case when s.status = 'closed' then m.created_at end, m.created_at
       from generate_series(${from + 1}, ${to}) n
       cross join lateral (select case when n > ${conversations - open} then 'open' else 'closed' end as status) s
       left join (select id, row_number() over (order by id) - 1 as place from users where account_id = $1::uuid and status = 'ACTIVE') u
         on n % 2 = 0 and u.place = (n / 2) % ${sizes.members}
       cross join lateral ${newest} m`,
      [account, channel],
    )
    report(`${to} of ${conversations} conversations`)
  })
}

/** Adds the items and words of the conversations. */
const addItems = async (
  db: Db,
  account: string,
  { conversations, texts }: InboxSizes,
  kinds: number,
  { sortIn, report }: { sortIn: () => Promise<unknown>; report: Report },
) => {
  await inParts(texts, 100_000, async (from, to) => {
    const rows = `select n, ${idOf(texts)} as id, 1 + n % ${conversations} as c, n % ${kinds} as t,
      case when (n / ${conversations}) % 2 = 0 then 'inbound' else 'outbound' end as direction, ${momentOf(texts)} as at
      from generate_series(${from}, ${to - 1}) n`
    const joined = `(${rows}) r join conversations c on c.account_id = $1::uuid and c.counterpart = '+447' || lpad(r.c::text, 9, '0')`
    await db.raw(
      `insert into conversation_items (account_id, conversation_id, id, kind, direction, channel_id, at)
       select $1::uuid, c.id, r.id, 'sms', r.direction, c.last_channel, r.at from ${joined}`,
      [account],
    )
    await db.raw(
      `insert into conversation_words (account_id, id, conversation_id, kind, words)
       select $1::uuid, r.id, c.id, 'text', t.words from ${joined} join console_data_texts t on t.n = r.t order by r.n`,
      [account],
    )
    await sortIn()
    report(`${to} of ${texts} texts in conversations`)
  })
  await inParts(conversations, 5_000, async (from, to) => {
    const rows = await db.many<{ id: string; name: string; counterpart: string }>`
      select id, name, counterpart from conversations
      where account_id = ${account} and counterpart > ${`+447${String(from).padStart(9, '0')}`}
        and counterpart <= ${`+447${String(to).padStart(9, '0')}`}`
    const words = rows.map(({ name, counterpart }) => `{${nameHashesOf(account, name, counterpart).join()}}`)
    const ids = rows.map(({ id }) => id)
    await db.run`
      insert into conversation_words (account_id, id, conversation_id, kind, words)
      select ${account}, id, id, 'name', words::integer[] from unnest(${ids}::uuid[], ${words}::text[]) w (id, words)`
    if (to % 50_000 === 0) {
      await sortIn()
      report(`${to} of ${conversations} names`)
    }
  })
}

/**
 * Fills the inbox of an account, which must have no conversations yet, by SQL alone: no text is sent, charged or published.
 * @param db without time limits
 */
export const fillInbox = async (
  db: Db,
  account: string,
  sizes: InboxSizes,
  report: Report = () => {},
): Promise<void> => {
  const kinds = Math.min(50_000, sizes.texts)
  const channel = await makeChannel(db, account)
  await db.raw('drop table if exists console_data_texts')
  await prepareTexts(db, account, kinds)
  report('texts are prepared')
  await addMembers(db, account, sizes.members)
  await addTexts(db, account, channel, sizes, { kinds, report })
  await db.raw('analyze sms_messages')
  await addConversations(db, account, channel, sizes, report)
  await db.raw('analyze conversations')
  await inBulk(db, (sortIn) => addItems(db, account, sizes, kinds, { sortIn, report }))
  await db.raw('drop table console_data_texts')
  await addContacts(db, account, sizes)
  for (const table of ['sms_messages', 'conversations', 'conversation_items', 'conversation_words', 'contacts'])
    await db.raw(`vacuum (analyze) ${quoteIdentifier(table)}`)
  report(`${sizes.contacts} contacts`)
}
