import type { Db, Tx } from '../../../platform/db/sql.ts'
import { backoff, type JobKind, Retry } from '../../../platform/jobs/job-kind.ts'
import { enqueueAll } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { ChatMediaType } from '../../../ports/chat-message.ts'
import type { InboundMedia } from '../../../ports/sms.ts'
import { openConnection } from '../../connections/ops.ts'
import { addUnfetched, describeFile, type HeadersFor, type Media } from '../../msgapp/media/ops.ts'
import { smsDrivers } from '../drivers.ts'
import { maxMediaAttempts, maxMediaFiles, maxMediaUrlLength } from '../limits.ts'

// Files of inbound messages (MMS). The carrier keeps them: they are fetched after their message is stored.

/** A file of an inbound message, before it is fetched. */
export type InboundFile = {
  readonly id: string
  readonly type: ChatMediaType
  readonly mimeType: string
  /** Empty: the carrier states none. */
  readonly name: string
  readonly url: string
}

/** Returns the files of a message as they are stored. */
export const inboundFiles = (media: readonly InboundMedia[] | undefined): InboundFile[] =>
  (media ?? [])
    .filter(({ url }) => url.length <= maxMediaUrlLength)
    .slice(0, maxMediaFiles)
    .map(({ url, mimeType = null }) => {
      const { name, ...file } = describeFile(url, mimeType)
      // Carriers name files by ids, too, which are no names for people.
      return { ...file, id: uuid(), name: name.includes('.') ? name : '', url: storable(url) }
    })

type FilesOfMessage = {
  readonly account: string
  readonly channel: string
  readonly connection: string
  readonly media: readonly InboundFile[]
}

const kind = 'sms.media'

/** `media`: the file. */
type Payload = { readonly media: string }

/** Stores the files of messages, and jobs that fetch them. */
export const storeFiles = async (tx: Tx, messages: readonly FilesOfMessage[]): Promise<void> => {
  const files = messages.flatMap(({ account, channel, connection, media }) =>
    media.map((file) => ({ ...file, account, channel, connection })),
  )
  if (files.length === 0) return
  await addUnfetched(
    tx,
    files.map(({ url, connection, ...file }) => ({ ...file, size: null, source: JSON.stringify({ url, connection }) })),
  )
  await enqueueAll(
    tx,
    kind,
    files.map(({ id, account }) => ({ payload: { media: id } satisfies Payload, account })),
  )
}

/** Fetches files of inbound messages, for about an hour. The carrier's credentials go to its own origin alone. */
export const inboundMediaJob = ({
  db,
  seal,
  chat: { media },
}: {
  readonly db: Db
  readonly seal: Seal
  readonly chat: { readonly media: Pick<Media, 'fetch' | 'markFailed'> }
}): JobKind => {
  const headersFor: HeadersFor = async ({ url, connection }) => {
    const found = connection === undefined ? null : await openConnection(db, seal, connection)
    return (found && smsDrivers.get(found.kind)?.mediaHeaders?.(found.settings, url)) ?? {}
  }
  const jobKind: JobKind<Payload, void> = {
    kind,
    concurrency: 16,
    leaseSeconds: 60,
    maxAttempts: maxMediaAttempts,
    fair: true,
    run: async (job, signal) => {
      try {
        await media.fetch(job, job.payload.media, null, signal, headersFor)
      } catch (error) {
        if (!(error instanceof Retry)) throw error
        throw new Retry(error.message, Math.max(error.seconds, backoff(job.attempt)))
      }
    },
    onDiscard: (tx, { account, payload }, error) => media.markFailed(tx, account ?? '', payload.media, error),
  }
  // All jobs of this kind were added above.
  return jobKind as JobKind
}
