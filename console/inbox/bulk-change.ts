import { signal } from '@preact/signals'
import { api, type ReplyOf } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { readers } from './inbox-store.ts'

// A change of many conversations: it goes on behind the page, and can be undone.

type Job = ReplyOf<'GET /open/conversations/bulk/:job_uuid'>['job']

export type BulkWork = {
  readonly uuid: string
  readonly job?: Job
  readonly isUndo: boolean
  readonly fault?: string
}

export const bulkWork = signal<BulkWork | null>(null)

/** Milliseconds between readings; events bring the next one forward. */
const pause = 1_000
let timer: ReturnType<typeof setTimeout> | undefined

const read = async (uuid: string): Promise<void> => {
  clearTimeout(timer)
  const work = bulkWork.peek()
  if (work?.uuid !== uuid || (work.job && work.job.state !== 'running')) return
  try {
    const { job } = await api('GET /open/conversations/bulk/:job_uuid', { params: { job_uuid: uuid } })
    if (bulkWork.peek()?.uuid !== uuid) return
    bulkWork.value = { ...work, job }
    if (job.state === 'running') timer = setTimeout(() => void read(uuid), pause)
    else readers.lists()
  } catch (thrown) {
    bulkWork.value = { ...work, fault: asApiError(thrown).message }
  }
}

export const followBulk = (uuid: string, isUndo = false): void => {
  bulkWork.value = { uuid, isUndo }
  void read(uuid)
}

/** Reads the progress at once after an event. */
export const bulkChanged = (): void => {
  const { uuid } = bulkWork.peek() ?? {}
  if (uuid) void read(uuid)
}

export const undoBulk = async (): Promise<void> => {
  const work = bulkWork.peek()
  if (!work) return
  try {
    const { job_uuid } = await api(
      'POST /open/conversations/bulk/:job_uuid/undo',
      { params: { job_uuid: work.uuid } },
      { idempotencyKey: newIdempotencyKey() },
    )
    followBulk(job_uuid, true)
  } catch (thrown) {
    bulkWork.value = { ...work, fault: asApiError(thrown).message }
  }
}

export const dismissBulk = (): void => {
  clearTimeout(timer)
  bulkWork.value = null
}
