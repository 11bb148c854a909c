import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
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

/**
 * Starts Chromium, without sandbox as root requires, and without requests of its own.
 * @param executablePath the whole browser, where a test proves more than its engine
 */
export const launchChromium = (flags: readonly string[] = [], executablePath = chromiumPath): Promise<Browser> =>
  chromium.launch(launchOptions(flags, executablePath))

/** Starts Chromium on the folder of a profile: what its pages store survives until the next start. */
export const launchProfile = (folder: string, offline = false): Promise<BrowserContext> =>
  chromium.launchPersistentContext(folder, { ...launchOptions([], chromiumPath), offline, reducedMotion: 'reduce' })

/** With pages that may make calls over the loopback, and play sound before a click. */
export const callFlags = ['--allow-loopback-in-peer-connection', '--autoplay-policy=no-user-gesture-required']

/** The whole browser, for tests of calls as people make them. */
export const wholeChromium = existsSync(whole) ? whole : chromiumPath
