import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { isFullForm } from './needs.ts'

/** The small form: each page reads it. Measured: a third less processor time than the readable one. */
const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

type Finding = { readonly rule: string; readonly targets: string }

/** The rules whose result depends on colours. The others read the same document in both modes. */
const colourRules = ['color-contrast', 'link-in-text-block']

/** Rules per mode; all of axe's if undefined. */
const modes = [
  { colorScheme: 'dark', rules: colourRules },
  { colorScheme: 'light', rules: undefined },
] as const

/**
 * Checks a page against every axe rule, WCAG and best practices included, and its colours in light and dark mode. Only
 * the full form checks: that takes half of the time of a walk.
 * @param within a selector: only what is in it is checked
 */
export const isAccessible = async (page: Page, state: string, within = 'html'): Promise<void> => {
  if (!isFullForm) return
  for (const { colorScheme, rules } of modes) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    if (!(await page.evaluate(`typeof axe === 'object'`))) await page.evaluate(axeSource)
    // Only violations are described in full, and no style sheet is loaded again: both take long and change no result.
    const options = { resultTypes: ['violations'], preload: false, ...(rules ? { runOnly: rules } : {}) }
    const findings = await page.evaluate<
      Finding[]
    >(`axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) => violations.map(
      ({ id, nodes }) => ({ rule: id, targets: nodes.map(({ target }) => target.join(' ')).join(', ') })))`)
    assert.deepEqual(findings, [], `${state}, ${colorScheme}`)
  }
}

/**
 * Returns the targets below 24 by 24 CSS pixels that are too near to others (WCAG 2.5.8). axe leaves this rule out by
 * default.
 */
export const targetFaults = async (page: Page): Promise<string[]> => {
  if (!(await page.evaluate(`typeof axe === 'object'`))) await page.evaluate(axeSource)
  const options = { runOnly: ['target-size'], resultTypes: ['violations'], preload: false }
  return await page.evaluate<string[]>(`axe.run('html', ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ nodes }) => nodes.map(({ html }) => html.slice(0, 160))))`)
}
