import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { callFlags, chromiumPath, launchChromium } from '../../test/chromium.ts'
import type { StartedPlatform } from './started-platform.ts'

/** Runs in a page: the client makes a token, and the SDK calls a telephone of the sandbox with it. */
const callTelephone = `async ([code, apiKey]) => {
  const address = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }))
  const { Trunkline: Client } = await import(address)
  const client = new Client({ apiKey, baseUrl: location.origin, dangerouslyAllowBrowser: true })
  const { data: { users: [user] } } = await client.users.list()
  const { token } = await client.voice.createToken({ user_uuid: user.uuid, ttl: 600 })
  const device = new Trunkline.Device({ token })
  await device.register()
  const call = await device.connect({ to: '+447700900123' })
  await new Promise((resolve, reject) => {
    call.on('accepted', resolve)
    call.on('disconnect', ({ reason }) => reject(new Error('the call ended: ' + reason)))
  })
  call.disconnect()
  return call.remoteIdentity
}`

/**
 * Calls from a page with the installed builds for browsers.
 * @param folder in which the packages are installed
 * @returns who was called; null without Chromium
 */
export const callFromBrowser = async (folder: string, { url, key }: StartedPlatform): Promise<string | null> => {
  if (!existsSync(chromiumPath)) return null
  const microphone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']
  const browser = await launchChromium([...callFlags, ...microphone])
  try {
    const page = await browser.newPage()
    await page.goto(`${url}/healthz`)
    const packages = join(folder, 'node_modules/@trunkline')
    await page.addScriptTag({ path: join(packages, 'voice-sdk/dist/voice.js') })
    const code = readFileSync(join(packages, 'client/dist/index.mjs'), 'utf8')
    return await page.evaluate<string>(`(${callTelephone})(${JSON.stringify([code, key])})`)
  } finally {
    await browser.close()
  }
}
