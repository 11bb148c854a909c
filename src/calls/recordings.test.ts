import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/servers.ts'
import { makeWorld, type Tenant } from '../../test/world.ts'
import { header, repair } from '../connectors/media/recording/wav.ts'
import { uuid } from '../lib/id.ts'
import { beginCall, callEnded } from './ops.ts'
import * as recordings from './recordings.ts'

const { db, tenant } = await makeWorld()
const config = { home: temporaryFolder(), mediaStore: null, recordingDays: 90 }
const media = {
  repair: (path: string) =>
    repair(path).then(
      (value) => ({ outcome: 'done' as const, value }),
      (error) => ({ outcome: 'refused' as const, cause: 'state' as const, reason: String(error) }),
    ),
}
const pass = (seconds: number) => db.run`update clock set offset_seconds = offset_seconds + ${seconds}`

/** A call that was recorded and has ended, without the end of its recording. */
const record = async (who: Tenant) => {
  const id = uuid()
  await db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: who.id, id, callid: id, direction: 'O', user_id: null, from_number: null, rate: '0' },
      ...{ to_number: '+447700900123', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '+441632960000', virtual_number_id: null, toll_free: false },
    })
    await recordings.begin(tx, who.id, id)
    await callEnded(tx, who.id, id, { status: 'COMPLETED', reason: '200' })
  })
  const file = recordings.fileOf(config, who.id, id)
  assert.equal(await recordings.prepare(file), null)
  return { id, file }
}

const mended = async (who: Tenant, id: string) => (await recordings.find(db, who.id, id))?.bytes ?? null

test('recordings that cannot be mended do not keep others from it, and a file that cannot be deleted no other', async () => {
  const who = await tenant()
  for (let i = 0; i < 25; i++) await record(who)
  const [good, stuck] = [await record(who), await record(who)]
  for (const { file } of [good, stuck]) writeFileSync(file, Buffer.concat([header(0), Buffer.alloc(8)]))
  await pass(10)
  for (let i = 0; i < 2; i++) await recordings.repairLeft(db, config, media)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [52, 52])

  rmSync(stuck.file)
  mkdirSync(stuck.file)
  await pass(91 * 86_400)
  const failed: unknown[] = []
  await recordings.forgetOld(db, config, (error) => failed.push(error))
  assert.equal(failed.length, 1)
  assert.deepEqual([await mended(who, good.id), await mended(who, stuck.id)], [null, 52])
  rmdirSync(stuck.file)
  await recordings.forgetOld(db, config, (error) => failed.push(error))
  assert.deepEqual([failed.length, await mended(who, stuck.id), existsSync(good.file)], [1, null, false])
})
