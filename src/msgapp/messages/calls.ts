import { beginCall, chatCallEnded } from '../../calls/ops.ts'
import type { ChatCall } from '../../connectors/message-port.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { record } from '../../events/ops.ts'
import { type Clock, iso } from '../../lib/clock.ts'
import { print, uuid } from '../../lib/id.ts'
import { mainCountryOf } from '../../lib/phone.ts'
import type { Line } from '../intake.ts'
import * as arrivals from './arrivals.ts'
import { peerOf } from './peer.ts'

export type CallParts = { readonly db: Db; readonly clock: Clock }

/** Keeps a call that a network told of, and tells of it once. */
export const receiveCall = async (tx: Tx, { clock }: CallParts, line: Line, call: ChatCall): Promise<void> => {
  const id = uuid()
  const { number, remote } = call.from
  const { own = false } = call
  const other = number ?? remote
  const isNew = await arrivals.call(tx, {
    account: line.account,
    id,
    channel: line.channel,
    networkId: call.id,
    number,
    remote,
    group: call.group,
    isVideo: call.video,
    at: call.at,
    isEnded: call.state === 'ended',
  })
  const known = isNew ? id : await arrivals.callOf(tx, line, call.id)
  if (isNew)
    await beginCall(tx, {
      account_id: line.account,
      id,
      callid: call.id,
      direction: own ? 'O' : 'I',
      user_id: null,
      from_number: own ? line.number : other,
      to_number: own ? other : line.number,
      iso_country_code: mainCountryOf(own ? (number ?? '') : line.number) ?? '',
      is_msgapp: true,
      is_trunk: false,
      caller_id: null,
      caller_id_used: own ? line.number : other,
      virtual_number_id: null,
      toll_free: false,
      rate: '0',
    })
  // Here nobody answers; a telephone may have, and not every network tells that.
  if (known && call.state === 'ended') await chatCallEnded(tx, line.account, known, call.answered === true)
  if (!isNew) return
  await record(tx, [
    {
      account: line.account,
      name: own ? 'msgapp.call.made' : 'msgapp.call.received',
      channel: line.channel,
      conversation: `${line.channel} ${number === null ? remote : peerOf(number)}`,
      payload: {
        uuid: id,
        channel_uuid: print('WPN', line.channel),
        channel_phone_number: line.number,
        ...(number === null ? { remote_id: remote } : { remote_phone_number: number }),
        ...(call.group === null ? {} : { wa_group_id: call.group }),
        wa_call_id: call.id,
        direction: own ? 'O' : 'I',
        is_video: call.video,
        timestamp: iso(call.at),
        created_at: iso(clock.now()).slice(0, -1),
      },
    },
  ])
}
