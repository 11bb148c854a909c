import type { Db, Sql } from '../../../platform/db/sql.ts'
import type { Schedule } from '../../../platform/jobs/schedule.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { MediaLegStats } from '../../../ports/media.ts'
import type { VoiceEnd, VoiceTimelineEntry } from '../../../ports/voice.ts'
import { maxTimelineEntries, maxTimelineEntryLength } from '../limits.ts'

export type TimelineEntry = {
  at: Date
  leg: 'caller' | 'callee' | null
  what: VoiceTimelineEntry['what']
  text: string
}

type OpenTimeline = { readonly account: string; lines: VoiceTimelineEntry[]; place: number }

const insert = async (
  db: Db,
  rows: readonly (VoiceTimelineEntry & { account: string; call: string; place: number })[],
) => {
  await db.run`
    insert into call_timeline_entries (account_id, call_id, place, at, leg, what, text)
    select * from unnest(${rows.map(({ account }) => account)}::uuid[], ${rows.map(({ call }) => call)}::uuid[],
      ${rows.map(({ place }) => place)}::integer[], ${rows.map(({ at }) => new Date(at))}::timestamptz[],
      ${rows.map(({ leg }) => leg)}::text[], ${rows.map(({ what }) => what)}::text[], ${rows.map(({ text }) => text)}::text[])
    on conflict do nothing`
}

/** Collects the timelines of this process's calls. Entries are persisted later, so that they delay no call. */
export const makeCallTimelines = (db: Db) => {
  const timelines = new Map<string, OpenTimeline>()
  return {
    begin: (call: string, account: string) => void timelines.set(call, { account, lines: [], place: 0 }),
    append: (call: string, lines: readonly VoiceTimelineEntry[]) => {
      const timeline = timelines.get(call)
      if (!timeline) return
      const room = maxTimelineEntries - timeline.place - timeline.lines.length
      timeline.lines.push(...lines.slice(0, Math.max(0, room)))
    },
    /** Appends how a call has ended, however many entries it has. */
    appendEnd: (call: string, lines: readonly VoiceTimelineEntry[]) => {
      timelines.get(call)?.lines.push(...lines)
    },
    /** Persists the collected entries. @param isOver whether a call has ended; it is dropped once it has no entries */
    flush: async (isOver: (call: string) => boolean): Promise<void> => {
      const rows = [...timelines].flatMap(([call, timeline]) => {
        if (timeline.lines.length === 0 && isOver(call)) timelines.delete(call)
        const lines = timeline.lines.splice(0)
        return lines.map((line) => ({
          ...line,
          text: storable(line.text, maxTimelineEntryLength),
          ...{ call, account: timeline.account, place: timeline.place++ },
        }))
      })
      if (rows.length > 0) await insert(db, rows)
    },
  }
}

const count = ({ packets, lost }: { packets: number; lost: number | null }) =>
  `${packets} packets${lost === null ? '' : `, ${lost} lost`}`

const milliseconds = (ms: number) => `${Math.round(ms * 10) / 10} ms`

const mediaSummary = ({ codec, received, sent, dropped, roundTripMs, local, remote }: MediaLegStats): string =>
  [
    codec ?? 'no codec',
    `received ${count(received)}${received.jitterMs === null ? '' : `, jitter ${milliseconds(received.jitterMs)}`}`,
    `sent ${count(sent)}`,
    ...(dropped ? [`dropped ${dropped} packets from unexpected addresses`] : []),
    ...(roundTripMs === null ? [] : [`round trip ${milliseconds(roundTripMs)}`]),
    ...(local && remote ? [`${local} with ${remote}`] : []),
  ].join('; ')

const sides = { caller: 'caller', callee: 'callee' } as const
const legOf = (leg: string) => (leg === 'caller' || leg === 'callee' ? sides[leg] : null)

/** Returns the final timeline entries: media statistics of each side, and the reason of the end. */
export const summary = (
  { how, status, reason, by, stats, agoMs }: VoiceEnd,
  at = Date.now() - agoMs,
): VoiceTimelineEntry[] => [
  ...stats.map((one) => ({ at, leg: legOf(one.leg), what: 'media' as const, text: mediaSummary(one) })),
  { at, leg: by, what: 'note', text: `${how}${status ? ` ${status}` : ''}: ${reason}` },
]

export const readTimeline = (db: Sql, account: string, call: string) => db.many<TimelineEntry>`
  select at, leg, what, text from call_timeline_entries where account_id = ${account} and call_id = ${call} order by place`

/** Deletes old timelines, and the stories of programs in them. @param days age after which they are deleted */
export const deleteOldTimelines = (days: number): Schedule => ({
  name: 'forget-call-timelines',
  every: 600,
  run: async (tx) => {
    await tx.run`
      delete from call_timeline_entries where (account_id, call_id, place) in (
        select account_id, call_id, place from call_timeline_entries
        where at < now() - make_interval(days => ${days}) order by at limit 20000)`
    await tx.run`
      delete from call_program_steps where (account_id, call_id, sequence) in (
        select account_id, call_id, sequence from call_program_steps
        where at < now() - make_interval(days => ${days}) order by at limit 20000)`
  },
})
