import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { atProcessEnd, isProcessShared } from './endings.ts'
import { needs } from './needs.ts'

const shell = '/usr/bin/chromium-headless-shell'
const whole = '/usr/bin/chromium'

/**
 * Chromium without its window: the engine of the same build. Measured, processor time: 0.4 s instead of 1.0 s for a page
 * of the console in a context of its own, 0.2 s instead of 0.4 s for the rules of axe. The whole browser where the shell
 * is missing.
 */
export const chromiumPath = existsSync(shell) ? shell : whole

/** The options of tests in Chromium. */
export const inChromium = needs('chromium-headless-shell', existsSync(chromiumPath))

const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']

const launchOptions = (flags: readonly string[], executablePath: string) => ({
  executablePath,
  timeout: 90_000,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', ...quiet, ...flags],
})

/** Starts Chromium on the folder of a profile: what its pages store survives until the next start. */
export const launchProfile = (folder: string, offline = false): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, { ...launchOptions([], chromiumPath), offline, reducedMotion: 'reduce' })

const launch = (flags: readonly string[], executablePath: string): Promise<Browser> =>
  chromium.launch(launchOptions(flags, executablePath))

const kept = new Map<string, Promise<Browser>>()

/** Starts a browser that ends with the process. Its `close` ends what a file has opened. */
const launchKept = async (flags: readonly string[], executablePath: string): Promise<Browser> => {
  const browser = await launch(flags, executablePath)
  atProcessEnd(browser.close.bind(browser))
  return Object.assign(browser, {
    close: async () => void (await Promise.all(browser.contexts().map((context) => context.close()))),
  })
}

/**
 * Returns Chromium, without sandbox as root requires, and without requests of its own. Files that share a process share
 * it, because a start takes 1 s of processor time.
 * @param executablePath the whole browser, where a test proves more than its engine
 */
export const launchChromium = async (
  flags: readonly string[] = [],
  executablePath = chromiumPath,
): Promise<Browser> => {
  if (!isProcessShared()) return launch(flags, executablePath)
  const key = [executablePath, ...flags].join(' ')
  const known = await kept.get(key)?.catch(() => undefined)
  if (known?.isConnected()) return known
  const launched = launchKept(flags, executablePath)
  kept.set(key, launched)
  return launched
}

/** With pages that may make calls over the loopback, and play sound before a click. */
export const callFlags = ['--allow-loopback-in-peer-connection', '--autoplay-policy=no-user-gesture-required']

/** The whole browser, for tests of calls as people make them. */
export const wholeChromium = existsSync(whole) ? whole : chromiumPath
