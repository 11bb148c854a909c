import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

type Finding = { readonly rule: string; readonly targets: string }

/**
 * Checks a page against every axe rule, WCAG and best practices included, in light and dark mode.
 * @param within a selector: only what is in it is checked
 */
export const isAccessible = async (page: Page, state: string, within = 'html'): Promise<void> => {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    if (!(await page.evaluate(`typeof axe === 'object'`))) await page.evaluate(axe.source)
    const findings = await page.evaluate<
      Finding[]
    >(`axe.run(${JSON.stringify(within)}).then(({ violations }) => violations.map(
      ({ id, nodes }) => ({ rule: id, targets: nodes.map(({ target }) => target.join(' ')).join(', ') })))`)
    assert.deepEqual(findings, [], `${state}, ${colorScheme}`)
  }
}
