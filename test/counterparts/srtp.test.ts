import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openMedia,
  openWorld,
  receivesTone,
  toBrowsers,
  toCarrier,
  trunkOf,
} from '../../src/adapters/sip-gateway/testing.ts'
import type { MediaEngine, MediaSrtp } from '../../src/ports/media.ts'
import { openRtpengine } from '../media/rtpengine.ts'
import { makeSoftphone } from '../media/softphone.ts'
import { needs } from '../needs.ts'
import { freePort, runProgram } from './program.ts'

// baresip as a carrier whose audio is encrypted with keys in SDP (RFC 4568). Its aubridge returns the audio it
// receives.

/** @param call invoked once baresip runs */
const openEcho = async (t: TestContext, port: number, encryption: string | null, call: string | null = null) => {
  const folder = mkdtempSync(join(tmpdir(), 'baresip-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const modules = ['g711.so', 'aubridge.so', 'srtp.so']
  const config = [
    `sip_listen 127.0.0.1:${port}`,
    ...['net_interface 127.0.0.1', 'module_path /usr/lib/baresip/modules', 'audio_source aubridge,none'],
    ...['audio_player aubridge,none', 'audio_alert aubridge,none', ...modules.map((name) => `module ${name}`)],
    ...['module_tmp account.so', 'module_app menu.so'],
  ]
  writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`)
  const account = ['<sip:+33612345678@127.0.0.1>', 'regint=0', 'answermode=auto']
  const keys = encryption === null ? [] : [`mediaenc=${encryption}`]
  writeFileSync(join(folder, 'accounts'), `${[...account, ...keys].join(';')}\n`)
  writeFileSync(join(folder, 'contacts'), '')
  const program = runProgram(t, ['baresip', '-f', folder, ...(call === null ? [] : ['-e', `d ${call}`])], folder)
  await program.prints('baresip is ready')
  return program
}

const withEngine = (open: () => Promise<MediaEngine>): void => {
  const starting = open()
  after(async () => (await starting).close())

  for (const [srtp, encryption] of [
    ['require', 'srtp-mand'],
    ['offer', 'srtp'],
    ['offer', null],
  ] as const)
    test(`a trunk with srtp ${srtp} and baresip with mediaenc ${encryption} hear each other`, async (t) => {
      const { gateway, browser, ended } = await openWorld(t, toCarrier, { media: await starting })
      const port = await freePort()
      const { output } = await openEcho(t, port, encryption)
      await gateway.apply([trunkOf(port, { srtp, pingSeconds: 1 })])
      await until(() => gateway.trunk('carrier')?.state === 'up')
      const ann = await browser('ANN')
      const softphone = await closedAfter(t, makeSoftphone())
      const { dialled } = await dial(ann, fromBrowser(ann), softphone)
      const session = await until(() => dialled.session)
      await mediaFlow(softphone)
      softphone.sendTone(1_000)
      await receivesTone(softphone, 1_000)
      await session.bye()
      const stats = (await ended()).stats.find(({ leg }) => leg === 'callee')
      assert.ok((stats?.received.packets ?? 0) > 10)
      assert.ok(!stats?.dropped)
      assert.equal(output().includes('starting mediaenc'), encryption !== null)
    })

  const callIn = async (t: TestContext, srtp: MediaSrtp, encryption: string | null) => {
    const world = await openWorld(t, toBrowsers('ANN'), { media: await starting })
    const port = await freePort()
    await world.gateway.apply([trunkOf(port, { srtp })])
    const ann = await world.browser('ANN')
    return { ann, ...(await openEcho(t, port, encryption, `sip:33187654321@127.0.0.1:${world.gateway.port}`)) }
  }

  for (const [srtp, encryption] of [
    ['never', 'srtp'],
    ['offer', 'srtp'],
    ['offer', 'srtp-mand'],
    ['require', 'srtp-mandf'],
  ] as const)
    test(`baresip with mediaenc ${encryption} is heard when it calls by a trunk with srtp ${srtp}`, async (t) => {
      const { ann } = await callIn(t, srtp, encryption)
      const softphone = await closedAfter(t, makeSoftphone())
      const { session } = await answer(await until(() => ann.calls.shift()), softphone)
      await mediaFlow(softphone)
      softphone.sendTone(1_000)
      await receivesTone(softphone, 1_000)
      await session.bye()
    })

  for (const [srtp, encryption] of [
    ['never', 'srtp-mand'],
    ['require', null],
  ] as const)
    test(`baresip with mediaenc ${encryption} that calls by a trunk with srtp ${srtp} is refused with 488`, async (t) => {
      const { output, ann } = await callIn(t, srtp, encryption)
      await until(() => output().includes('session closed: 488'))
      assert.equal(ann.calls.length, 0)
    })
}

/** Calls at a time. With all nine, handshakes of a loaded machine exceed werift's timers, and a call stays silent. */
const concurrency = 3

describe('baresip', needs('baresip'), () => {
  describe('with the embedded engine', { concurrency }, () => withEngine(openMedia))
  describe('with rtpengine', { concurrency, ...needs('rtpengine') }, () => withEngine(openRtpengine))
})
