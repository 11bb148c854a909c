import type { ChatGroupEvent } from '../../connectors/chat-port.ts'
import type { Db } from '../../db/sql.ts'
import { record } from '../../events/ops.ts'
import { iso } from '../../lib/clock.ts'
import { print, uuid } from '../../lib/id.ts'
import type { Line } from '../intake.ts'
import { groupPeer } from '../messages/peer.ts'
import { storable } from '../text.ts'
import { askForGroups } from './acts.ts'
import * as store from './store.ts'

const names = { join: 'msgapp.group.join', leave: 'msgapp.group.leave', remove: 'msgapp.group.remove' } as const

/** Keeps what a network tells of a group: who came, who left, who was removed. Of what else changed the group is read anew. */
export const makeGroupIntake = (db: Db) => ({
  group: (line: Line, { id: networkId, group, name, what, who, at }: ChatGroupEvent): Promise<void> =>
    db.begin(async (tx) => {
      const { account, channel, number } = line
      if (!(await store.heard(tx, channel, networkId))) return
      const known = await store.meet(tx, {
        account,
        id: uuid(),
        channel,
        networkId: group,
        name: name === null ? null : storable(name),
      })
      const members = who.map((one) => one.number ?? one.remote)
      const isOurs = members.includes(number)
      if (isOurs && what !== 'changed') await store.setJoined(tx, account, known.id, what === 'join')
      if (what === 'join')
        await store.addMembers(
          tx,
          account,
          known.id,
          members.map((member) => ({
            member,
            code: 200,
            message: 'joined',
            isAdmin: false,
            isCreator: false,
            invited: false,
          })),
        )
      if (what === 'leave' || what === 'remove') await store.removeMembers(tx, account, known.id, members)
      if (what === 'changed' || known.is_new || (isOurs && what === 'join')) await askForGroups(tx, line)
      if (what === 'changed') return
      const payload = {
        channel_uuid: print('WPN', channel),
        channel_phone_number: number,
        group_uuid: print('WAG', known.id),
        wa_group_id: group,
        name: known.name,
        participants: members,
        created_at: iso(at).slice(0, 19),
      }
      const conversation = groupPeer(known.id, group)
      await record(tx, [{ account, name: names[what], channel, conversation: `${channel} ${conversation}`, payload }])
    }),
})
