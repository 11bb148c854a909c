import { signal } from '@preact/signals'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey, send } from '../api/send.ts'
import { showToast } from '../parts/toast.tsx'
import type { Outgoing } from './outbox-rules.ts'

// Files that wait to be sent with the next message.

export type Attachment = {
  readonly id: string
  readonly conversation: string
  readonly name: string
  readonly type: string
  /** `MED…` once the server has it. */
  readonly media?: string
}

export const attachments = signal<readonly Attachment[]>([])

const put = (attachment: Attachment): void => {
  attachments.value = [...attachments.peek().filter(({ id }) => id !== attachment.id), attachment]
}

export const detach = (id: string): void => {
  attachments.value = attachments.peek().filter((each) => each.id !== id)
}

/** Puts the file of a message that came back to the next message. */
export const reattach = ({ id, conversation, body, file }: Outgoing): void => {
  if (body.media_uuid && file) put({ id, conversation, ...file, media: body.media_uuid })
}

/** Uploads a file. It is sent with the next message. */
export const attach = async (conversation: string, file: File): Promise<void> => {
  const id = newIdempotencyKey()
  const base = { id, conversation, name: file.name || 'file', type: file.type }
  put(base)
  try {
    // A type that the browser does not know is sent as plain bytes.
    const body = file.type ? file : new File([file], file.name, { type: 'application/octet-stream' })
    const reply = (await send(
      'POST /open/media',
      { body },
      { idempotencyKey: id, headers: { 'x-file-name': encodeURIComponent(base.name) } },
    )) as { media: { uuid: string } } // as the contract says
    if (attachments.peek().some((each) => each.id === id)) put({ ...base, media: reply.media.uuid })
  } catch (thrown) {
    detach(id)
    showToast(asApiError(thrown).message, 'bad')
  }
}
