import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { accountPages, ownPages } from '../test/console/every-page.ts'
import { startPlatform } from '../test/platform.ts'
import { temporaryFolder } from '../test/servers.ts'
import { makeExampleData } from './screenshots/example-data.ts'

// Takes a picture of every page of the console, at three widths, light and dark, over a platform with example data:
//
//   npm run screenshots                  all pages, into .cache/screenshots
//   npm run screenshots -- money people  only pages whose names contain one of these words
//   npm run screenshots -- --readme      the pictures of the README, into docs/images
//
// index.html in the folder shows them all. Needs Chromium: see docs/console.md.

const folder = join(import.meta.dirname, '../.cache/screenshots')
const widths = [1440, 768, 360] as const
const themes = ['light', 'dark'] as const
const flags = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']

const isReadme = process.argv.includes('--readme')
const wanted = process.argv.slice(2).filter((word) => word !== '--readme')
const isWanted = ({ name }: { readonly name: string }): boolean =>
  !isReadme && (wanted.length === 0 || wanted.some((word) => name.includes(word)))

const isSettled = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
}

const take = async (page: Page, name: string): Promise<void> => {
  await isSettled(page)
  for (const width of widths) {
    await page.setViewportSize({ width, height: width === 360 ? 740 : 900 })
    for (const colorScheme of themes) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const isLong = (await page.locator('dialog[open]').count()) === 0
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: isLong })
    }
  }
  console.log(name)
}

const images = join(import.meta.dirname, '../docs/images')
/** Bytes of a picture that the repository keeps. */
const maxImageBytes = 150_000

/** Takes the pictures of the README: a page in the size of a small laptop. */
const takeForReadme = async (page: Page, name: string): Promise<void> => {
  await isSettled(page)
  // Both pages show this text, once they are read.
  await page.locator('main').getByText('Your parcel arrives today').last().waitFor()
  await page.setViewportSize({ width: 1280, height: 720 })
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const path = join(images, `${name}-${colorScheme}.png`)
    const { length } = await page.screenshot({ path })
    if (length > maxImageBytes) throw new Error(`${path} has ${length} bytes, more than ${maxImageBytes}`)
  }
  console.log(name)
}

/** Makes the first person by the link of the first start. */
const claim = async (context: BrowserContext, link: string): Promise<Page> => {
  const page = await context.newPage()
  await page.goto(link)
  if (isWanted({ name: 'claim' })) await take(page, 'claim')
  await page.getByLabel('Your name').fill('Olive Oatley')
  await page.getByLabel('Email').fill('olive@example.com')
  await page.getByLabel('Password', { exact: true }).fill('seven green boats sail')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Olive Oatley: your menu' }).waitFor()
  return page
}

const gallery = (names: readonly string[]): string => {
  const picture = (name: string, width: number, theme: string) =>
    `<a href="${name}-${width}-${theme}.png"><img loading="lazy" height="400" alt="${name}, ${width} px, ${theme}" src="${name}-${width}-${theme}.png"></a>`
  const row = (name: string) =>
    `<h2>${name}</h2><p>${themes.map((theme) => widths.map((width) => picture(name, width, theme)).join(' ')).join(' ')}</p>`
  return `<!doctype html><meta charset="utf-8"><title>The console of Trunkline</title>${names.map(row).join('\n')}`
}

const run = async (browser: Browser): Promise<void> => {
  const platform = await startPlatform(temporaryFolder())
  const { claim_url: link }: { claim_url: string } = JSON.parse(readFileSync(join(platform.home, 'ready.json'), 'utf8'))
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/London', serviceWorkers: 'block' })
  context.setDefaultTimeout(30_000)
  const page = await claim(context, link)
  const { accounts } = await (await page.request.get(`${platform.url}/console/session`)).json()
  const base = `/console/${accounts[0].uuid}`
  const names: string[] = []
  const visit = async (name: string, path: string) => {
    if (!isWanted({ name })) return
    await page.goto(platform.url + path)
    await take(page, name)
    names.push(name)
  }
  // Empty pages are what a new account shows.
  for (const name of ['start', 'numbers', 'logs', 'webhooks', 'applications'])
    await visit(`empty-${name}`, base + (accountPages.find((one) => one.name === name)?.path ?? ''))
  const { pages, stop } = await makeExampleData(platform)
  if (isReadme)
    for (const [name, path] of [
      ['inbox', pages.conversation],
      ['message', pages.delivered],
    ] as const) {
      await page.goto(`${platform.url}${base}${path}`)
      await takeForReadme(page, name)
    }
  for (const { name, path } of accountPages) await visit(name, base + path)
  for (const [name, path] of Object.entries(pages)) await visit(name, base + path)
  for (const { name, path } of ownPages) await visit(name, path)
  await visit('missing', `${base}/no/such/page`)
  await context.clearCookies()
  await visit('sign-in', '/console/sign-in')
  if (!isReadme) writeFileSync(join(folder, 'index.html'), gallery(names))
  stop()
  await platform.end('SIGKILL')
}

if (wanted.length === 0 && !isReadme) rmSync(folder, { recursive: true, force: true })
mkdirSync(isReadme ? images : folder, { recursive: true })
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags })
try {
  await run(browser)
} finally {
  await browser.close()
}
console.log(`The pictures are in ${isReadme ? images : folder}.`)
process.exit(0)
