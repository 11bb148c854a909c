import { recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { publishRecordingsReady } from '../ops.ts'
import type { ProgramRecordings } from '../programs/program-deps.ts'
import * as recordings from '../recordings/recording-files.ts'
import { reportRecording } from '../recordings/recording-status.ts'
import type { CallControlDeps } from './call-admission.ts'

type RecordingDeps = Pick<CallControlDeps, 'db' | 'quotas' | 'config' | 'log' | 'seal' | 'urlOfRecording'>

/** Stores the recordings that programs make during a call. Those that a crash leaves are repaired as all others. */
export const makeProgramRecordings = (deps: RecordingDeps): ProgramRecordings => {
  const { db, quotas, config, log, seal, urlOfRecording } = deps
  const cipher = recordingCipher(seal)
  return {
    begin: async ({ account, id: call }, source, status) => {
      const full = await quotas.storageExhausted(db, account)
      if (full) return { refused: full.message }
      const prepared = await recordings.prepareRecording(config, account)
      if (prepared instanceof Error) {
        log.error({ call, err: prepared }, 'recordings: creating the folder failed')
        return { refused: 'its folder could not be created' }
      }
      await db.begin(async (tx) => {
        await recordings.insertRecording(tx, account, call, prepared, source, status)
      })
      return { id: prepared.id, path: prepared.path }
    },
    finish: async ({ account, id: call }, id, content) => {
      const [finished] = await recordings.encryptFinished({ config, cipher, log }, account, [{ id, content }])
      // One that was not closed properly, or not encrypted, is completed later.
      if (!finished) return { url: null }
      const url = urlOfRecording(account, id)
      await db.begin(async (tx) => {
        const { content: made, isEncrypted } = finished
        if (!(await recordings.completeRecording(tx, account, id, made, isEncrypted))) return
        const ready = { id, seconds: made.seconds, url }
        await publishRecordingsReady(tx, account, call, [ready])
        await reportRecording(tx, account, call, ready)
      })
      return { url }
    },
  }
}
