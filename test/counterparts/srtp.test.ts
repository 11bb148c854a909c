import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import {
  dial,
  flows,
  fromBrowser,
  hears,
  kept,
  openMedia,
  openWorld,
  toCarrier,
  trunkOf,
} from '../../src/connectors/sip/gateway/testing.ts'
import { until } from '../../src/connectors/sip/testing.ts'
import { makeSoftphone } from '../media/softphone.ts'
import { needs } from '../needs.ts'
import { freePort, runProgram } from './program.ts'

// baresip as a carrier whose audio is encrypted with keys in its descriptions (RFC 4568). Its aubridge sends back what it hears.

const media = await openMedia()
after(() => media.close())

/** @returns the port of its SIP */
const openEcho = async (t: TestContext, encryption: string): Promise<number> => {
  const folder = mkdtempSync(join(tmpdir(), 'baresip-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const port = await freePort()
  const modules = ['g711.so', 'aubridge.so', 'srtp.so']
  const config = [
    `sip_listen 127.0.0.1:${port}`,
    ...['net_interface 127.0.0.1', 'module_path /usr/lib/baresip/modules', 'audio_source aubridge,none'],
    ...['audio_player aubridge,none', 'audio_alert aubridge,none', ...modules.map((name) => `module ${name}`)],
    ...['module_tmp account.so', 'module_app menu.so'],
  ]
  writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`)
  const account = `<sip:+33612345678@127.0.0.1>;regint=0;answermode=auto;mediaenc=${encryption}\n`
  writeFileSync(join(folder, 'accounts'), account)
  writeFileSync(join(folder, 'contacts'), '')
  const program = runProgram(t, ['baresip', '-f', folder], folder)
  await until(() => program.output().includes('baresip is ready'))
  return port
}

for (const [srtp, encryption] of [
  ['require', 'srtp-mand'],
  ['offer', 'srtp'],
] as const)
  test(
    `a trunk with srtp ${srtp} and baresip with ${encryption} hear each other, encrypted`,
    needs('baresip'),
    async (t) => {
      const { gateway, browser, ended } = await openWorld(t, toCarrier, { media })
      const port = await openEcho(t, encryption)
      await gateway.apply([trunkOf(port, { srtp, pingSeconds: 1 })])
      await until(() => gateway.trunk('carrier')?.state === 'up')
      const ann = await browser('ANN')
      const softphone = await kept(t, makeSoftphone())
      const { dialled } = await dial(ann, fromBrowser(ann), softphone)
      const session = await until(() => dialled.session)
      await flows(softphone)
      softphone.say(1_000)
      await hears(softphone, 1_000)
      await session.bye()
      const stats = (await ended()).stats.find(({ leg }) => leg === 'callee')
      assert.ok((stats?.received.packets ?? 0) > 10)
      assert.equal(stats?.dropped, 0)
    },
  )
