import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort, runProgram } from './program.ts'

/** The account of bob, who registers at a local port. */
export const bobAt = (registrar: number) => (): string =>
  `<sip:bob@127.0.0.1:${registrar}>;auth_user=bob;auth_pass=pass;regint=60`

/**
 * baresip as a telephone that answers and dials on command. Its aubridge returns the audio it receives, and each call leaves
 * a file of that in `folder`, whose name ends with `-dec.wav`.
 * @param account of baresip, given its own port
 * @param speaks the sounds of the telephone, by the names of WAV files at 8 kHz, in place of the audio that it receives. It
 * plays the first one in each call; `tell('ausrc', 'aufile,…')` plays another
 */
export const openTelephone = async (
  t: Pick<TestContext, 'after'>,
  account: (port: number) => string,
  speaks: Readonly<Record<string, Buffer>> = {},
) => {
  const folder = mkdtempSync(join(tmpdir(), 'baresip-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [port, control] = [await freePort(), await freePort()]
  const [first] = Object.keys(speaks)
  for (const [name, sound] of Object.entries(speaks)) writeFileSync(join(folder, name), sound)
  const modules = ['g711.so', 'aubridge.so', 'sndfile.so', ...(first === undefined ? [] : ['aufile.so'])]
  const source = first === undefined ? 'aubridge,none' : `aufile,${join(folder, first)}`
  const config = [
    `sip_listen 127.0.0.1:${port}`,
    ...['net_interface 127.0.0.1', 'module_path /usr/lib/baresip/modules', `audio_source ${source}`],
    ...['audio_player aubridge,none', 'audio_alert aubridge,none', `ctrl_tcp_listen 127.0.0.1:${control}`],
    ...modules.map((name) => `module ${name}`),
    `snd_path ${folder}`,
    ...['module_tmp account.so', 'module_app menu.so', 'module_app ctrl_tcp.so'],
  ]
  writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`)
  writeFileSync(join(folder, 'accounts'), `${account(port)}\n`)
  writeFileSync(join(folder, 'contacts'), '')
  let line: Socket | null = null
  t.after(() => line?.destroy())
  const program = runProgram(t, ['baresip', '-f', folder], folder)
  await program.prints('baresip is ready')
  return {
    program,
    port,
    folder,
    /** Sends a menu command over ctrl_tcp: one connection at a time, and commands as netstrings. */
    tell: (command: string, params = '') => {
      line ??= connect(control, '127.0.0.1').on('error', () => {})
      const text = JSON.stringify({ command, params })
      line.write(`${text.length}:${text},`)
    },
  }
}
