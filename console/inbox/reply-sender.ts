import { announcePresence } from '../live/presence.ts'
import { type Attachment, detach } from './attached-files.ts'
import { loadThread } from './inbox-reader.ts'
import { threadOf } from './inbox-store.ts'
import { setMoved } from './moved-messages.ts'
import { sendMessage } from './outbox.ts'
import { replyTo } from './reply-target.ts'
import { clearDraft } from './saved-drafts.ts'
import { seenUntil, unseenAnswers } from './seen-answers.ts'

export type SendOptions = { readonly close?: boolean; readonly sendAt?: string }

type Reply = {
  readonly conversation: string
  readonly channel: string
  readonly text: string
  readonly files: readonly Attachment[]
}

/**
 * Sends a reply. Each file is a message of its own; the text goes with the first.
 * @returns false if the server will refuse it, as the person has not seen an answer
 */
export const sendReply = ({ conversation, channel, text, files }: Reply, { close, sendAt }: SendOptions): boolean => {
  const thread = threadOf(conversation).peek()
  const seen = seenUntil(conversation)
  const isUnseen = unseenAnswers(conversation).length > 0
  const target = replyTo.peek()
  const base = {
    channel_uuid: channel,
    ...seen,
    ...(sendAt ? { send_at: sendAt } : {}),
    ...(target?.conversation === conversation ? { reply_to: target.item.uuid } : {}),
  }
  const last = { ...(close ? { close: true } : {}) }
  if (files.length === 0) sendMessage(conversation, { ...base, ...last, text })
  for (const [index, { media, name, type }] of files.entries())
    sendMessage(
      conversation,
      {
        ...base,
        ...(index === files.length - 1 ? last : {}),
        ...(media ? { media_uuid: media } : {}),
        ...(index === 0 && text ? { text } : {}),
      },
      { name, type },
    )
  for (const { id } of files) detach(id)
  replyTo.value = null
  setMoved(conversation, undefined)
  clearDraft(conversation, 'message')
  // The thread was opened at an old message: what was sent is at its end.
  if (thread?.newer !== undefined) void loadThread(conversation)
  announcePresence(conversation, 'viewing')
  return !isUnseen
}
