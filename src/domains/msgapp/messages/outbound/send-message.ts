import { canonicalNumber } from '@trunkline/phone/number-forms.ts'
import type { Db, Tx } from '../../../../platform/db/sql.ts'
import { refuse } from '../../../../platform/http/problem.ts'
import { phoneNumber } from '../../../../platform/http/validation.ts'
import { parse, uuid } from '../../../../platform/lib/id.ts'
import type { Chat } from '../../chat-service.ts'
import { nameOf } from '../../media/media-types.ts'
import { useUpload } from '../../media/ops.ts'
import { refusals } from '../../refusals.ts'
import * as rows from '../message-query-store.ts'
import { groupPeer, peerOf } from '../peer.ts'

/** A message to send. Exactly one recipient; `checkSendRequest` checks the rest. */
export type SendRequest = {
  /** E.164. */
  readonly from_number: string
  readonly to_number?: string
  readonly to_group_uuid?: string
  readonly to_remote_id?: string
  readonly text?: string
  readonly url?: string
  /** An uploaded file, instead of `url`. */
  readonly media_uuid?: string
  readonly pin?: object
  readonly template?: { readonly parameters?: readonly string[]; readonly components?: readonly object[] }
}

/** Checks what the schema of a request cannot express. @throws the 400 Problem */
export const checkSendRequest = ({
  to_number,
  to_group_uuid,
  to_remote_id,
  text = '',
  url,
  media_uuid,
  pin,
  template,
}: Omit<SendRequest, 'from_number'>): void => {
  if ([to_number, to_group_uuid, to_remote_id].filter((to) => to !== undefined).length !== 1)
    throw refusals.oneRecipient()
  const file = url ?? media_uuid
  if (template) {
    if (to_group_uuid !== undefined) throw refusals.templateNeedsRecipient()
    if (text !== '' || file !== undefined || pin !== undefined) throw refusals.templateWithContent()
    if (template.parameters && template.components) throw refusals.parametersOrComponents()
    return
  }
  if (text === '' && file === undefined && pin === undefined) throw refusals.noContent()
}

const groupOf = async (sql: Db | Tx, account: string, printed: string) => {
  const id = parse('WAG', printed)
  return (id && (await rows.group(sql, account, id))) || refuse(refusals.unknownGroup(printed))
}

export type SendDeps = { readonly db: Db; readonly chat: Pick<Chat, 'accept' | 'senders'> }

/** Options of a message that an agent writes. */
export type SendOptions = {
  /** Refuses free text to a person who did not write within the network's window, before it is queued. */
  readonly checksWindow?: boolean
}

/**
 * Sends a message from a channel of an account. Resolves once the message is durable, or part of `tx`.
 * @returns the id of the message
 * @throws the 404, 406, 409, 422 or 503 Problem
 */
export const sendMessage = async (
  { db, chat: { accept, senders } }: SendDeps,
  tx: Tx | null,
  account: string,
  request: SendRequest,
  { checksWindow = false }: SendOptions = {},
): Promise<string> => {
  const sql = tx ?? db
  const sender = senders.of(account, request.from_number, sql)
  const channel = sender instanceof Promise ? await sender : sender
  const group = request.to_group_uuid === undefined ? null : await groupOf(sql, account, request.to_group_uuid)
  if (group && group.channel !== channel.id) throw refusals.notInGroup(channel.number, request.to_group_uuid)
  const { abilities } = channel
  abilities.require('send')
  if (group) abilities.require('groups')
  if (request.url !== undefined || request.media_uuid !== undefined) abilities.require('media')
  if (request.pin) abilities.require('location')
  if (request.template) abilities.require('templates')
  const remote = request.to_remote_id ?? null
  const known = remote === null ? null : await rows.peerByRemote(sql, { account, id: channel.id }, remote)
  if (remote !== null && !known) throw refusals.unknownPerson(remote, channel.number)
  const number = request.to_number === undefined ? (known?.number ?? null) : phoneNumber(request.to_number)
  if (number !== null && peerOf(number) === peerOf(channel.number)) throw refusals.ownNumber(number)
  const networkId = group?.network_id ?? null
  if (group && networkId === null) throw refusals.groupPending(request.to_group_uuid)
  const peer = group ? groupPeer(group.id, networkId) : (known?.peer ?? peerOf(number ?? ''))
  const { freeTextHours } = abilities
  if (checksWindow && freeTextHours !== null && !request.template && !group)
    if (!(await rows.hasWritten(sql, { account, id: channel.id }, peer, freeTextHours)))
      throw refusals.outsideWindow(channel.number, freeTextHours)
  const id = uuid()
  const upload =
    request.media_uuid === undefined || !tx ? null : await useUpload(tx, account, request.media_uuid, channel.id)
  const fetched = request.url === undefined ? null : { id: uuid(), url: request.url, name: nameOf(request.url) }
  await accept.message(
    {
      account,
      id,
      channel: channel.id,
      connection: channel.connection,
      peer,
      number: number === null ? null : canonicalNumber(number),
      dialled: number,
      remote,
      group: group && networkId !== null ? { id: group.id, networkId } : null,
      text: request.text || null,
      pin: request.pin ? JSON.stringify(request.pin) : null,
      template: request.template ? JSON.stringify(request.template) : null,
      media: upload ? { id: upload, url: null, name: '' } : fetched,
    },
    tx,
  )
  return id
}
