import assert from 'node:assert/strict'
import { type Platform, until } from '../platform.ts'
import type { Member } from './fixture.ts'

// Answers of two colleagues that cross, in any browser: a script of the page measures how long the answer was there.

/** A page of either browser. */
export type Reader = {
  run<T>(code: string): Promise<T>
}

/** Milliseconds for which an answer must be visible. */
const seenAfter = 1_000

/** Runs in the page: presses Enter some time after a text appeared in the thread. Returns how long the text was there. */
const answerAfter = `async (text, delay) => {
  const log = document.querySelector('[role=log]')
  const isThere = () => [...log.querySelectorAll('li')].some(({ textContent }) => textContent.includes(text))
  await new Promise((resolve) => {
    const observer = new MutationObserver(() => isThere() && (observer.disconnect(), resolve()))
    observer.observe(log, { subtree: true, childList: true, characterData: true })
    if (isThere()) resolve()
  })
  const since = performance.now()
  await new Promise((resolve) => setTimeout(resolve, delay))
  const box = document.querySelector('.box-text')
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
  return performance.now() - since
}`

type Outcome = { readonly isSent: boolean; readonly elapsed: number; readonly hasNotice: boolean }

/** A conversation that Linus answers by HTTP, and another person in a page. */
export const makeCollisions = ({ url, call }: Pick<Platform, 'url' | 'call'>, linus: Member) => {
  const conversationWith = (handset: string): Promise<{ uuid: string }> =>
    until(async () => {
      const { conversations } = (await call('GET', '/open/conversations?results_per_page=200')).body
      return conversations.find(({ counterpart }: { counterpart: string }) => counterpart === handset)
    })

  const received = async (handset: string): Promise<string[]> =>
    (await call('GET', `/sandbox/handsets/${handset}`)).body.sms
      .filter(({ direction }: { direction: string }) => direction === 'inbound')
      .map(({ text }: { text: string }) => text)

  /** Lets a handset write some messages. */
  const begin = async (handset: string, number: string, count: number): Promise<string> => {
    for (let n = 1; n <= count; n += 1) {
      const body = { to: number, text: `Question ${n} of ${count}` }
      assert.equal((await call('POST', `/sandbox/handsets/${handset}/sms`, body)).status, 202)
    }
    const { uuid } = await conversationWith(handset)
    await until(async () => {
      const { items } = (await call('GET', `/open/conversations/${uuid}/items`)).body
      return items.length >= count
    })
    return uuid
  }

  /** Linus answers. */
  const answer = async (uuid: string, text: string): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'x-trunkline-console': '1', cookie: linus.cookie }
    const { channels } = (await call('GET', `/open/conversations/${uuid}`)).body.conversation
    const body = JSON.stringify({ channel_uuid: channels[0].channel_uuid, text })
    const reply = await fetch(`${url}/open/conversations/${uuid}/messages`, { method: 'POST', headers, body })
    assert.equal(reply.status, 202, await reply.text())
  }

  /**
   * Lets Linus answer while the person of a page has a text in the box, and presses Enter there some time after the answer
   * appeared.
   * @param scroll where the thread is, in pixels from its end
   */
  const collide = async (
    page: Reader,
    place: { readonly handset: string; readonly uuid: string },
    text: string,
    { delay, scroll }: { readonly delay: number; readonly scroll: number },
  ): Promise<Outcome> => {
    const theirs = `Theirs to ${text}`
    await page.run(`(() => {
      const box = document.querySelector('.box-text')
      box.value = ${JSON.stringify(text)}
      box.dispatchEvent(new InputEvent('input', { bubbles: true }))
      document.querySelector('[role=log]').scrollTop = -${scroll}
    })()`)
    // Messages that are drawn for the first time have other heights than was assumed.
    await until(() =>
      page.run<boolean>(`document.querySelector('[role=log]').scrollTop ${scroll > 0 ? '< -200' : '> -2'}`),
    )
    await page.run(`void (window.pressed = (${answerAfter})(${JSON.stringify(theirs)}, ${delay}))`)
    await answer(place.uuid, theirs)
    const elapsed = await page.run<number>('window.pressed')
    const state = await until(() =>
      page.run<string>(`(() => {
        const notice = document.querySelector('.box-moved')
        if (notice?.textContent.includes(${JSON.stringify(theirs)})) return 'stopped ' + document.querySelector('.box-text').value
        const own = [...document.querySelectorAll('[role=log] .message-out:not(:has(.is-waiting))')].at(-1)
        return own?.textContent.includes(${JSON.stringify(text)}) && !own.textContent.includes('Theirs') ? 'sent' : ''
      })()`),
    )
    const isSent = (await received(place.handset)).includes(text)
    if (state !== 'sent') assert.equal(state, `stopped ${text}`, 'the draft is kept')
    return { isSent, elapsed, hasNotice: state !== 'sent' }
  }

  /** Asserts that an answer went out only after the other one was seen. */
  const assertSeen = ({ isSent, elapsed, hasNotice }: Outcome, scroll: number): void => {
    const what = `${Math.round(elapsed)} ms after the answer appeared, ${scroll} px from the end`
    if (scroll > 0 || elapsed < seenAfter) assert.ok(!isSent && hasNotice, `sent ${what}`)
  }

  /** Ends a collision: the text that was not sent is discarded. */
  const discard = async (page: Reader): Promise<void> => {
    await page.run(`document.querySelector('.box-moved button')?.click()`)
    await until(() => page.run<boolean>(`document.querySelector('.box-text').value === ''`))
  }

  return { begin, answer, collide, assertSeen, discard, received, conversationWith }
}
