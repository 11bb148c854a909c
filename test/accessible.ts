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

/**
 * Marks the elements of a page whose colours no page has had before, for `axe`. Colours follow from the style sheets, and
 * from the attributes and states of the element and its ancestors; texts and addresses change none. Returns the keys of
 * all elements.
 */
const markNew = `(within, seen) => {
  const known = new Set(seen)
  const texts = new Set(['id', 'href', 'src', 'for', 'name', 'value', 'title', 'alt', 'placeholder', 'datetime', 'd',
    'aria-label', 'aria-labelledby', 'aria-describedby', 'aria-controls', 'aria-owns', 'aria-activedescendant',
    'popovertarget', 'data-unseen', 'data-new', 'data-row'])
  const states = [':focus', ':checked', ':popover-open', ':invalid', ':user-invalid', ':indeterminate']
  const mix = (text, start) => {
    let sum = start
    for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193)
    return sum
  }
  const ownOf = (element) => element.tagName +
    [...element.attributes].map(({ name, value }) => texts.has(name) ? name : name + '=' + value).sort() +
    states.filter((state) => element.matches(state)) + element.checkVisibility() +
    [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== '')
  const found = new Set()
  const visit = (element, above, isWithin) => {
    const key = mix(ownOf(element), above)
    const isInside = isWithin || element.matches(within)
    element.removeAttribute('data-unseen')
    if (isInside && !known.has(key) && !found.has(key)) element.setAttribute('data-unseen', '')
    if (isInside) found.add(key)
    for (const child of element.children) visit(child, key, isInside)
  }
  visit(document.documentElement, mix([...document.styleSheets].map(({ href }) => href).join(), 0x811c9dc5), false)
  return [...found].filter((key) => !known.has(key))
}`

/** The elements whose colours were checked, by their keys. */
const seenColours = new Set<number>()

/** Only violations are described in full, and no style sheet is loaded again: both take long and change no result. */
const plain = { resultTypes: ['violations'], preload: false }

const findingsOf = (page: Page, within: string, options: object): Promise<Finding[]> =>
  page.evaluate(`axe.run(${JSON.stringify(within)}, ${JSON.stringify({ ...plain, ...options })})
    .then(({ violations }) => violations.map(
      ({ id, nodes }) => ({ rule: id, targets: nodes.map(({ target }) => target.join(' ')).join(', ') })))`)

/**
 * Checks a page against every axe rule, WCAG and best practices included, and its colours in light and dark mode. Colours
 * are half of the work: an element like one of an earlier page of the process is not measured again. Only the full form
 * checks: that takes half of the time of a walk.
 * @param within a selector: only what is in it is checked
 */
export const isAccessible = async (page: Page, state: string, within = 'html'): Promise<void> => {
  if (!isFullForm) return
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  if (!(await page.evaluate(`typeof axe === 'object'`))) await page.evaluate(axeSource)
  const others = Object.fromEntries(colourRules.map((rule) => [rule, { enabled: false }]))
  assert.deepEqual(await findingsOf(page, within, { rules: others }), [], state)
  const fresh = await page.evaluate<number[]>(
    `(${markNew})(${JSON.stringify(within)}, ${JSON.stringify([...seenColours])})`,
  )
  if (fresh.length === 0) return
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    assert.deepEqual(await findingsOf(page, '[data-unseen]', { runOnly: colourRules }), [], `${state}, ${colorScheme}`)
  }
  for (const key of fresh) seenColours.add(key)
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
