import { mainCountryOf } from '@trunkline/phone/phone.ts'
import type { Db, Tx } from '../../../../platform/db/sql.ts'
import { type Clock, iso } from '../../../../platform/lib/clock.ts'
import { print, uuid } from '../../../../platform/lib/id.ts'
import type { ChatCall } from '../../../../ports/chat-message.ts'
import { beginCall, chatCallEnded, storeBlockedCall } from '../../../calls/ops.ts'
import { findBlocked } from '../../../contacts/blocking/ops.ts'
import { record } from '../../../events/ops.ts'
import type { ChannelRef } from '../../inbound-handlers.ts'
import { peerOf } from '../peer.ts'
import * as arrivals from './inbound-store.ts'

export type CallDeps = { readonly db: Db; readonly clock: Clock }

const isCallerBlocked = async (tx: Tx, account: string, number: string | null): Promise<boolean> =>
  number !== null && (await findBlocked(tx, [{ account, number }]))(account, number)

/** Stores a call that a network reports, and publishes it once. Those of blocked contacts are only stored. */
export const receiveCall = async (
  tx: Tx,
  { clock }: CallDeps,
  channelRef: ChannelRef,
  call: ChatCall,
): Promise<void> => {
  const id = uuid()
  const { number, remote } = call.from
  const { own = false } = call
  const other = number ?? remote
  const isNew = await arrivals.storeCall(tx, {
    account: channelRef.account,
    id,
    channel: channelRef.channel,
    networkId: call.id,
    number,
    remote,
    group: call.group,
    isVideo: call.video,
    at: call.at,
    isEnded: call.state === 'ended',
  })
  const known = isNew ? id : await arrivals.findCall(tx, channelRef, call.id)
  const begun = {
    account_id: channelRef.account,
    id,
    callid: call.id,
    direction: own ? ('O' as const) : ('I' as const),
    user_id: null,
    from_number: own ? channelRef.number : other,
    to_number: own ? other : channelRef.number,
    iso_country_code: mainCountryOf(own ? (number ?? '') : channelRef.number) ?? '',
    is_msgapp: true,
    is_trunk: false,
    caller_id: null,
    caller_id_used: own ? channelRef.number : other,
    virtual_number_id: null,
    toll_free: false,
    rate: '0',
  }
  if (isNew && !own && (await isCallerBlocked(tx, channelRef.account, number))) return await storeBlockedCall(tx, begun)
  if (isNew) await beginCall(tx, begun)
  // This platform never answers; a telephone may have, and not every network reports that.
  if (known && call.state === 'ended') await chatCallEnded(tx, channelRef.account, known, call.answered === true)
  if (!isNew) return
  await record(tx, [
    {
      account: channelRef.account,
      name: own ? 'msgapp.call.made' : 'msgapp.call.received',
      channel: channelRef.channel,
      conversation: `${channelRef.channel} ${number === null ? remote : peerOf(number)}`,
      payload: {
        uuid: id,
        channel_uuid: print('WPN', channelRef.channel),
        channel_phone_number: channelRef.number,
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
