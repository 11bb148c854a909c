import type { FirefoxPage } from './firefox.ts'
import { until } from './platform.ts'

// Acts of a person in Firefox: what is meant is found by its role and name, or by its text. The tests in Chromium find
// elements as screen readers do. Firefox takes 0.4 s for that in a page of the console, a thousand times as long as a
// selector takes.

type Node = { readonly sharedId: string }
type RemoteValue = { readonly type: string; readonly value?: unknown; readonly sharedId?: string }
type CallResult = {
  readonly type: 'success' | 'exception'
  readonly result?: RemoteValue
  readonly exceptionDetails?: { readonly text: string }
}
type Step =
  | { readonly role: string; readonly name?: string | RegExp | undefined }
  | { readonly text: string | RegExp; readonly role?: undefined; readonly label?: undefined }
  | { readonly label: string; readonly role?: undefined }

/** Elements of a page, looked up again for each act. Acts wait until the first of them is shown. */
export type Elements = {
  /** @param name the whole label or text, or a pattern */
  role(role: string, name?: string | RegExp): Elements
  /** Fields by the beginning of their label, for those without a role, such as passwords. */
  label(label: string): Elements
  /** The smallest elements with a text. A string matches parts, in either case. */
  text(text: string | RegExp): Elements
  count(): Promise<number>
  isShown(): Promise<void>
  isGone(): Promise<void>
  click(): Promise<void>
  focus(): Promise<void>
  /** Replaces the content of a field by keys. */
  fill(text: string): Promise<void>
  /** Focuses the element, and presses keys such as `Enter` or `Control+k`. */
  press(keys: string): Promise<void>
  /** Chooses an option of a list by its text. */
  choose(option: string): Promise<void>
  /** Calls a function of the page with the first element, as `([field]) => field.value`. */
  read<T>(code: string): Promise<T>
}

/** A page with the acts of a person. */
export type Screen = Omit<FirefoxPage, 'send' | 'context'> &
  Pick<Elements, 'role' | 'label' | 'text' | 'press'> & {
    type(text: string): Promise<void>
    goto(url: string): Promise<void>
    reload(): Promise<void>
    url(): Promise<string>
    /** Waits for the address. */
    isAt(pattern: RegExp): Promise<void>
    resize(width: number, height: number): Promise<void>
    close(): Promise<void>
  }

/** Milliseconds between two looks. */
const lookEveryMs = 150

/** The page may change between two commands. */
const isPassing = (error: unknown): boolean => /no such|stale|abort|destroyed|discarded|not exist/i.test(String(error))

/** Key values of WebDriver. */
const keyValues: Record<string, string> = {
  ...{ Enter: '\uE007', Tab: '\uE004', Escape: '\uE00C', Backspace: '\uE003', Space: ' ' },
  ...{
    ArrowUp: '\uE013',
    ArrowDown: '\uE015',
    ArrowLeft: '\uE012',
    ArrowRight: '\uE014',
    Home: '\uE011',
    End: '\uE010',
  },
  ...{ Control: '\uE009', Alt: '\uE00A', Shift: '\uE008' },
}

// Functions of the page: they get elements, and texts such as a pattern with its flags.
const isVisible = `const isVisible = (element) =>
  element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0`
const plain = `const plain = (text) => (text ?? '').replace(/\\s+/g, ' ').trim()`

/** Elements that have a role by their tag. The others state it. */
const elementsOfRole: Record<string, string> = {
  button: 'button, summary',
  link: 'a[href]',
  heading: 'h1, h2, h3, h4, h5, h6',
  textbox: 'textarea, input:not([type]), input:is([type=text], [type=email], [type=tel], [type=url])',
  ...{ searchbox: 'input[type=search]', combobox: 'select', radio: 'input[type=radio]', option: 'option' },
  ...{ region: 'section', complementary: 'aside', dialog: 'dialog', group: 'fieldset, details', list: 'ul, ol' },
  ...{ table: 'table', cell: 'td', rowheader: 'th[scope=row]' },
}

/** Returns the elements with a role that are shown, and whose label or text matches, within others. */
const findRole = `(roots, [role, selector, source, flags]) => {
  ${isVisible}
  ${plain}
  const pattern = source === null ? null : new RegExp(source, flags)
  const textOf = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data
    if (node.nodeType !== Node.ELEMENT_NODE || node.ariaHidden === 'true' || node.matches('select, textarea')) return ''
    return node.role === 'img' ? (node.ariaLabel ?? '') : [...node.childNodes].map(textOf).join('')
  }
  const namesOf = (element) => [
    element.ariaLabel,
    ...[element.ariaLabelledByElements ?? [], element.labels ?? [], [element]].map((of) => [...of].map(textOf).join(' ')),
  ]
  return (roots.length > 0 ? roots : [document])
    .flatMap((root) => [...root.querySelectorAll(selector)])
    .filter((element) => (element.getAttribute('role') ?? role) === role && isVisible(element) &&
      (pattern === null || namesOf(element).some((name) => pattern.test(plain(name)))))
}`

/** Returns the smallest elements whose text matches, within others. */
const findText = `(roots, [source, flags]) => {
  ${isVisible}
  ${plain}
  const pattern = new RegExp(source, flags)
  const matches = (element) => pattern.test(plain(element.textContent))
  const found = (element) => {
    if (!matches(element) || /^(?:script|style|template)$/i.test(element.tagName)) return []
    const inner = [...element.children].flatMap(found)
    return inner.length > 0 ? inner : isVisible(element) ? [element] : []
  }
  return (roots.length > 0 ? roots : [document.body]).flatMap((root) => [...root.children].flatMap(found))
}`

/** Returns the fields with a label, within others. */
const findLabelled = `(roots, [label]) => {
  ${isVisible}
  ${plain}
  return (roots.length > 0 ? roots : [document]).flatMap((root) =>
    [...root.querySelectorAll('input, select, textarea')].filter((field) =>
      isVisible(field) && [field.ariaLabel, ...[...field.labels].map(({ textContent }) => textContent)]
        .some((name) => plain(name).startsWith(label))))
}`

/** Whether a click on the middle of the element reaches it. Scrolls to it where it does not. */
const isReachable = `([element]) => {
  const isHit = () => {
    const { x, y, width, height } = element.getClientRects()[0] ?? {}
    const hit = document.elementFromPoint(x + width / 2, y + height / 2)
    return hit !== null && (element.contains(hit) || hit.closest('label')?.control === element)
  }
  if (element.disabled) return false
  if (isHit()) return true
  element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' })
  return isHit()
}`

const chooseOption = `([element], [text]) => {
  const option = [...element.options].find((each) => each.text.trim() === text)
  if (!option) return false
  element.value = option.value
  for (const name of ['input', 'change']) element.dispatchEvent(new Event(name, { bubbles: true }))
  return true
}`

const patternOf = (text: string | RegExp): [source: string, flags: string] =>
  typeof text === 'string' ? [RegExp.escape(text.replace(/\s+/g, ' ').trim()), 'i'] : [text.source, text.flags]

/** Adds the acts of a person to a page. */
export const screenOf = ({ context, send, run, sees }: FirefoxPage): Screen => {
  const call = async (
    code: string,
    values: readonly (string | null)[],
    nodes: readonly Node[],
  ): Promise<RemoteValue> => {
    const texts = values.map((value) => (value === null ? { type: 'null' } : { type: 'string', value }))
    const { type, result, exceptionDetails } = await send<CallResult>('script.callFunction', {
      ...{ functionDeclaration: code, awaitPromise: true, userActivation: true, target: { context } },
      arguments: [
        { type: 'array', value: nodes },
        { type: 'array', value: texts },
      ],
      serializationOptions: { maxDomDepth: 0 },
    })
    if (type === 'exception') throw new Error(exceptionDetails?.text)
    return result ?? { type: 'undefined' }
  }

  const nodesOf = ({ value }: RemoteValue): Node[] =>
    // A function of this file returns an array of elements.
    (value as RemoteValue[]).map(({ sharedId = '' }) => ({ sharedId }))

  const look = (step: Step, roots: readonly Node[]): Promise<RemoteValue> => {
    if (step.role === undefined)
      return step.label === undefined
        ? call(findText, patternOf(step.text), roots)
        : call(findLabelled, [step.label], roots)
    const { role, name } = step
    const selector = [`[role=${role}]`, elementsOfRole[role] ?? []].flat().join(', ')
    const pattern = typeof name === 'string' ? [`^${RegExp.escape(name)}$`, ''] : name ? patternOf(name) : [null, null]
    return call(findRole, [role, selector, ...pattern], roots)
  }

  const find = async (steps: readonly Step[]): Promise<Node[]> => {
    let roots: Node[] = []
    for (const [at, step] of steps.entries()) {
      if (at > 0 && roots.length === 0) return []
      roots = nodesOf(await look(step, roots))
    }
    return roots
  }

  const saying = (steps: readonly Step[]): string =>
    steps.map(({ role, ...rest }) => `${role ?? 'text'} ${Object.values(rest)[0] ?? ''}`).join(' › ')

  /** Tries until an act succeeds. @throws Error with what was looked for */
  const attempt = <T>(steps: readonly Step[], act: (nodes: Node[]) => Promise<T | false>): Promise<T> =>
    until(
      async () => {
        try {
          return await act(await find(steps))
        } catch (error) {
          if (isPassing(error)) return false
          throw error
        }
      },
      30,
      lookEveryMs,
    ).catch(async (error: unknown) => {
      const shown = await run<string>(`document.body.innerText`).catch(String)
      throw new Error(`${saying(steps)}: ${String(error).slice(0, 90)}\n${await run('location.href')}\n${shown}`)
    })

  const perform = async (type: 'key' | 'pointer', actions: readonly object[]): Promise<void> => {
    await send('input.performActions', { context, actions: [{ type, id: type, actions }] })
  }

  const press = async (keys: string): Promise<void> => {
    const values = keys.split('+').map((key) => keyValues[key] ?? key)
    await perform('key', [
      ...values.map((value) => ({ type: 'keyDown', value })),
      ...values.toReversed().map((value) => ({ type: 'keyUp', value })),
    ])
  }

  const type = (text: string): Promise<void> =>
    perform(
      'key',
      [...text].flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]),
    )

  const elements = (steps: readonly Step[]): Elements => {
    /** Calls a function with the first element, until it returns something. */
    const onFirst = <T>(code: string, values: readonly string[] = []): Promise<readonly [Node, T]> =>
      attempt(steps, async ([node]) => {
        if (!node) return false
        const { value } = await call(code, values, [node])
        return value !== false && ([node, value as T] as const)
      })
    const focus = async () => void (await onFirst('([element]) => element.focus()'))
    return {
      role: (role, name) => elements([...steps, { role, name }]),
      text: (text) => elements([...steps, { text }]),
      label: (label) => elements([...steps, { label }]),
      count: async () => (await find(steps)).length,
      isShown: async () => void (await attempt(steps, async ([node]) => node !== undefined)),
      isGone: async () => void (await attempt(steps, async ([node]) => node === undefined)),
      click: async () => {
        const [{ sharedId }] = await onFirst(isReachable)
        const origin = { type: 'element', element: { sharedId } }
        await perform('pointer', [
          { type: 'pointerMove', x: 0, y: 0, origin },
          { type: 'pointerDown', button: 0 },
          { type: 'pointerUp', button: 0 },
        ])
      },
      focus,
      fill: async (text) => {
        await onFirst('([element]) => { element.focus(); element.select() }')
        await type(text)
      },
      press: async (keys) => {
        await focus()
        await press(keys)
      },
      choose: async (option) => void (await onFirst(chooseOption, [option])),
      read: async <T>(code: string) =>
        attempt(
          steps,
          async ([node]) => node !== undefined && { value: (await call(code, [], [node])).value as T },
        ).then(({ value }) => value),
    }
  }

  const url = () => run<string>('location.href')
  return {
    run,
    sees,
    role: (role, name) => elements([{ role, name }]),
    text: (text) => elements([{ text }]),
    label: (label) => elements([{ label }]),
    press,
    type,
    goto: async (address) => void (await send('browsingContext.navigate', { context, url: address, wait: 'complete' })),
    reload: async () => void (await send('browsingContext.reload', { context, wait: 'complete' })),
    url,
    isAt: async (pattern) => void (await until(async () => pattern.test(await url()), 30, lookEveryMs)),
    resize: async (width, height) =>
      void (await send('browsingContext.setViewport', { context, viewport: { width, height } })),
    close: async () => void (await send('browsingContext.close', { context })),
  }
}
