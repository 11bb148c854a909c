import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSeal } from '../../../platform/lib/secret.ts'
import { backups } from '../ops.ts'
import { makeInstallation, passphrase, runControl, verify } from '../testing.ts'

test('a changed byte anywhere, or a truncation, is found', async () => {
  const { settings, file } = await makeInstallation()
  await backups.create(settings, file, passphrase, '1.2.3', runControl())
  const whole = readFileSync(file)
  const places = [0, 9, 12, 20, 50, 100, whole.length >> 1, whole.length - 1]
  for (const place of places) {
    const changed = Buffer.from(whole)
    changed.writeUInt8((changed[place] ?? 0) ^ 1, place)
    writeFileSync(file, changed)
    await assert.rejects(
      backups.show(file, passphrase, runControl()),
      /not a backup|newer version|damaged|changed, cut off or exchanged/,
      `byte ${place}`,
    )
  }
  for (const length of [0, 64, 64 + 65_552, whole.length - 1]) {
    writeFileSync(file, whole.subarray(0, length))
    await assert.rejects(
      backups.verify(settings, file, passphrase, runControl()),
      /not a backup|changed, cut off/,
      `${length} bytes`,
    )
  }
  writeFileSync(file, whole)
  await assert.rejects(backups.show(file, 'another passphrase', runControl()), /The passphrase does not open/)
  await backups.show(file, passphrase, runControl())
})

test('verify finds a wrong balance, a secret that does not open, and a changed file', async () => {
  const { db, settings, file, home, keys, tenant } = await makeInstallation()
  await db.run`update balances set balance = balance + 0.000001 where account_id = ${tenant.id}`
  await db.run`update connections set sealed_secrets = ${makeSeal(randomBytes(32)).close('{}')}`
  await db.run`update msgapp_credentials set id = 'elsewhere'`
  const [plain = '', encrypted = ''] = keys
  writeFileSync(join(home, 'media', plain), 'something else')
  const bytes = readFileSync(join(home, 'media', encrypted))
  bytes.writeUInt8((bytes[90_000] ?? 0) ^ 1, 90_000)
  writeFileSync(join(home, 'media', encrypted), bytes)
  await backups.create(settings, file, passphrase, '1.2.3', runControl())
  const faults = await verify(settings, file)
  assert.match(String(faults.money), /its balance is 12.345679, but the sum of its transfers is 12.345678/)
  assert.deepEqual(faults['sealed secrets'], [
    'connections.sealed_secrets: 3 of 3 do not open',
    'msgapp_credentials.sealed_value: 2 of 2 do not open',
  ])
  assert.equal(faults.files?.length, 2)
  assert.match(
    String(faults.files),
    /differs from the database.*(changed, cut off|differs)|(changed, cut off).*differs from the database/,
  )
})
