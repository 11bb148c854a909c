import type { Static } from 'typebox'
import type { Sql } from '../../platform/db/sql.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { makeCallLoader } from '../calls/ops.ts'
import { messagesById as chatMessagesById } from '../msgapp/messages/ops.ts'
import { messagesById as smsById } from '../sms/ops.ts'
import * as store from './conversation-store.ts'
import { printChannel, printItem } from './presenter.ts'
import type { ConversationItem } from './schemas.ts'

export type PresentedItem = Static<typeof ConversationItem>
type PresentedNote = NonNullable<PresentedItem['note']>
type PresentedChange = NonNullable<PresentedItem['change']>

const presentNote = (row: Awaited<ReturnType<typeof store.notes>>[number]): PresentedNote => ({
  uuid: print('NTE', row.id),
  conversation_uuid: print('CNV', row.conversation_id),
  ...(row.user_id === null ? {} : { user_uuid: print('USR', row.user_id) }),
  text: row.removed_at === null ? row.text : '',
  mentions: row.mentions.map((user) => print('USR', user)),
  created_at: iso(row.created_at),
  ...(row.edited_at === null ? {} : { edited_at: iso(row.edited_at) }),
  ...(row.removed_at === null ? {} : { removed_at: iso(row.removed_at) }),
})

/** Presents items of an account, with what they are about: one statement for each kind. */
export type PresentItems = (sql: Sql, account: string, rows: readonly store.ItemRow[]) => Promise<PresentedItem[]>

export const makeItemPresenter = (
  services: Pick<Services, 'chat'> & Parameters<typeof makeCallLoader>[0],
): PresentItems => {
  const loadCalls = makeCallLoader(services)
  return async (sql, account, rows) => {
    const idsOf = (...kinds: store.ItemRow['kind'][]) =>
      rows.filter(({ kind }) => kinds.includes(kind)).map(({ id }) => id)
    const [sms, chats, calls, notes] = [idsOf('sms'), idsOf('msgapp'), idsOf('call', 'msgapp-call'), idsOf('note')]
    const none = new Map<string, never>()
    const found = {
      sms: sms.length > 0 ? await smsById(services.chat, sql, account, sms) : none,
      message: chats.length > 0 ? await chatMessagesById(sql, services.chat, account, chats) : none,
      call: calls.length > 0 ? await loadCalls(sql, account, calls) : none,
      note: new Map(
        (notes.length > 0 ? await store.notes(sql, account, notes) : []).map((row) => [row.id, presentNote(row)]),
      ),
    }
    return rows.map((row): PresentedItem => {
      const { id, kind, direction } = row
      const sms = kind === 'sms' ? found.sms.get(id) : undefined
      const message = kind === 'msgapp' ? found.message.get(id) : undefined
      const call = kind === 'call' || kind === 'msgapp-call' ? found.call.get(id) : undefined
      const note = kind === 'note' ? found.note.get(id) : undefined
      return {
        uuid: printItem(kind, direction, id),
        kind,
        at: iso(row.at),
        ...(direction === null ? {} : { direction }),
        ...(row.user_id === null ? {} : { user_uuid: print('USR', row.user_id) }),
        ...(row.channel_id === null ? {} : { channel_uuid: printChannel(kind, row.channel_id) }),
        ...(sms ? { sms } : {}),
        ...(message ? { message } : {}),
        ...(kind === 'msgapp' && !message ? { removed: true as const } : {}),
        ...(call ? { call } : {}),
        ...(note ? { note } : {}),
        // The columns are written by `addChanges` alone.
        ...(row.change === null ? {} : { change: row.change as PresentedChange }),
      }
    })
  }
}
