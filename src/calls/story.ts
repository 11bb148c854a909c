import type { MediaLegStats } from '../connectors/port.ts'
import type { VoiceEnd, VoiceTrace } from '../connectors/voice-port.ts'
import type { Db, Sql } from '../db/sql.ts'
import type { Schedule } from '../jobs/schedule.ts'

export type Line = { at: Date; leg: 'caller' | 'callee' | null; what: VoiceTrace['what']; text: string }

/** Lines of a call: what goes beyond is not kept. */
const most = 400
const longest = 500

type Kept = { readonly account: string; lines: VoiceTrace[]; place: number }

const insert = async (db: Db, rows: readonly (VoiceTrace & { account: string; call: string; place: number })[]) => {
  await db.run`
    insert into call_lines (account_id, call_id, place, at, leg, what, text)
    select * from unnest(${rows.map(({ account }) => account)}::uuid[], ${rows.map(({ call }) => call)}::uuid[],
      ${rows.map(({ place }) => place)}::integer[], ${rows.map(({ at }) => new Date(at))}::timestamptz[],
      ${rows.map(({ leg }) => leg)}::text[], ${rows.map(({ what }) => what)}::text[], ${rows.map(({ text }) => text)}::text[])
    on conflict do nothing`
}

/** What strangers wrote, as PostgreSQL takes it: no NUL, no half of a pair, and not of any length. */
export const plain = (text: string, most: number): string => text.slice(0, most).replaceAll('\0', '').toWellFormed()

/** The story of each call of this process, written down a moment later: it is for people who look, and holds nothing up. */
export const makeStories = (db: Db) => {
  const stories = new Map<string, Kept>()
  return {
    begin: (call: string, account: string) => void stories.set(call, { account, lines: [], place: 0 }),
    tell: (call: string, lines: readonly VoiceTrace[]) => {
      const story = stories.get(call)
      if (!story) return
      const room = most - story.place - story.lines.length
      story.lines.push(...lines.slice(0, Math.max(0, room)))
    },
    /** Writes down what there is. @param isOver true of a call that has ended: it is forgotten once nothing more came */
    flush: async (isOver: (call: string) => boolean): Promise<void> => {
      const rows = [...stories].flatMap(([call, story]) => {
        if (story.lines.length === 0 && isOver(call)) stories.delete(call)
        const lines = story.lines.splice(0)
        return lines.map((line) => ({
          ...line,
          text: plain(line.text, longest),
          ...{ call, account: story.account, place: story.place++ },
        }))
      })
      if (rows.length > 0) await insert(db, rows)
    },
  }
}

const count = ({ packets, lost }: { packets: number; lost: number | null }) =>
  `${packets} packets${lost === null ? '' : `, ${lost} lost`}`

const heard = ({ codec, received, sent, dropped, roundTripMs, local, remote }: MediaLegStats): string =>
  [
    codec ?? 'no codec',
    `received ${count(received)}${received.jitterMs === null ? '' : `, jitter ${received.jitterMs} ms`}`,
    `sent ${count(sent)}`,
    ...(dropped ? [`dropped ${dropped} packets from unexpected addresses`] : []),
    ...(roundTripMs === null ? [] : [`round trip ${roundTripMs} ms`]),
    ...(local && remote ? [`${local} with ${remote}`] : []),
  ].join('; ')

const sides = { caller: 'caller', callee: 'callee' } as const
const legOf = (leg: string) => (leg === 'caller' || leg === 'callee' ? sides[leg] : null)

/** How it ended, and what was heard of each side. */
export const epilogue = (
  { how, status, reason, by, stats, agoMs }: VoiceEnd,
  at = Date.now() - agoMs,
): VoiceTrace[] => [
  ...stats.map((one) => ({ at, leg: legOf(one.leg), what: 'media' as const, text: heard(one) })),
  { at, leg: by, what: 'note', text: `${how}${status ? ` ${status}` : ''}: ${reason}` },
]

export const read = (db: Sql, account: string, call: string) => db.many<Line>`
  select at, leg, what, text from call_lines where account_id = ${account} and call_id = ${call} order by place`

/** @param days after which stories are forgotten */
export const forgetStories = (days: number): Schedule => ({
  name: 'forget-call-timelines',
  every: 600,
  run: async (tx) => {
    await tx.run`
      delete from call_lines where (account_id, call_id, place) in (
        select account_id, call_id, place from call_lines
        where at < now() - make_interval(days => ${days}) order by at limit 20000)`
  },
})
