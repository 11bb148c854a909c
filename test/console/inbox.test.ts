import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page, Response } from 'playwright-core'
import { isInList, type ListQuery } from '../../console/inbox/list-query.ts'
import { furtherWalk, needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { isWellMade, joinPlatform, type Member, openPlatform } from './fixture.ts'

// The inbox with several agents, over the carriers and handsets of the sandbox.

const platform = await startPlatform()
after(() => platform.end('SIGKILL'))
const { call } = platform
const { signIn, allow } = openPlatform(platform)
const { number } = await buyNumber(platform)
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')
const linus = await joinPlatform(platform, 'Linus Berg')

const write = async (from: string, text: string): Promise<void> => {
  assert.equal((await call('POST', `/sandbox/handsets/${from}/sms`, { to: number, text })).status, 202)
}

/** Texts that a handset has received. */
const received = async (handset: string): Promise<string[]> =>
  (await call('GET', `/sandbox/handsets/${handset}`)).body.sms
    .filter(({ direction }: { direction: string }) => direction === 'inbound')
    .map(({ text }: { text: string }) => text)

const conversationWith = (handset: string): Promise<{ uuid: string }> =>
  until(async () => {
    const { conversations } = (await call('GET', '/open/conversations?results_per_page=200')).body
    return conversations.find(({ counterpart }: { counterpart: string }) => counterpart === handset)
  })

/** Lets a handset write, and opens its conversation as an agent. */
const opened = async (agent: Member, handset: string, text: string): Promise<Page> => {
  await write(handset, text)
  const { uuid } = await conversationWith(handset)
  const page = await signIn(agent, `/inbox/all/${uuid}`)
  await inThread(page, text)
  return page
}

const thread = (page: Page) => page.getByRole('log', { name: 'Messages' })
const inThread = (page: Page, text: string | RegExp) => thread(page).getByText(text).first().waitFor()
const box = (page: Page) => page.getByRole('textbox', { name: /^Reply to/ })
const rowOf = (page: Page, name: RegExp) =>
  page.getByRole('region', { name: 'Conversations', exact: true }).getByRole('link', { name }).first()
test(
  'answer-a-text: both agents see a text, one answers, and its delivery is seen without a reload',
  needs('chromium'),
  async () => {
    const first = await signIn(ruth)
    const second = await signIn(linus, '/inbox')
    await first.waitForURL(/\/inbox\/mine-and-unassigned$/)
    await first.getByRole('button', { name: 'Let a handset write' }).waitFor()
    await isWellMade(first, 'an inbox without conversations')
    await write('+447700900123', 'Is my number ported yet?')
    await rowOf(second, /Is my number ported/).waitFor()
    await rowOf(first, /1 unread/).click()
    await inThread(first, 'Is my number ported yet?')
    await rowOf(first, /Is my number ported/).waitFor()
    await first.getByText('1 unread').waitFor({ state: 'detached' })
    await box(first).fill('It will be on Monday.')
    await first.getByText('1 part').waitFor()
    await first.getByText('$0.04').first().waitFor()
    await box(first).press('Enter')
    await inThread(first, 'It will be on Monday.')
    await inThread(first, 'delivered')
    assert.deepEqual(await received('+447700900123'), ['It will be on Monday.'])
    await rowOf(second, /We: It will be on Monday/).waitFor()
    assert.equal(await thread(first).getByText('It will be on Monday.').count(), 1, 'shown once')
    await isWellMade(first, 'an open conversation')
    await first.reload()
    await inThread(first, 'It will be on Monday.')
  },
)

test(
  'one-thread: SMS, app and calls of a number are one conversation, and the SIM switch answers by each',
  furtherWalk(),
  async () => {
    const handset = '+447700900321'
    await write(handset, 'First by SMS')
    const app = (await call('GET', '/open/msgapp/get-numbers')).body.numbers[0]
    assert.equal(
      (await call('POST', `/sandbox/handsets/${handset}/msgapp`, { to: app.phone_number, text: 'Then by the app' }))
        .status,
      202,
    )
    assert.equal((await call('POST', `/sandbox/handsets/${handset}/calls`, { to: number })).status, 202)
    const { uuid } = await conversationWith(handset)
    const page = await signIn(ruth, `/inbox/all/${uuid}`)
    await inThread(page, 'First by SMS')
    await inThread(page, 'Then by the app')
    await inThread(page, /Missed call|Ringing|Call answered/)
    await box(page).press('Alt+1')
    const menu = page.getByRole('button', { name: /^Send by/ })
    for (const [kind, text] of [
      ['App', 'By the app'],
      ['SMS', 'By SMS'],
    ] as const) {
      await menu.click()
      await page
        .getByRole('menuitemradio', { name: new RegExp(`^${kind} `) })
        .first()
        .click()
      await box(page).fill(text)
      await box(page).press('Enter')
      await inThread(page, text)
    }
    await until(async () => (await received(handset)).includes('By SMS'))
    const { msgapp } = (await call('GET', `/sandbox/handsets/${handset}`)).body
    assert.ok(JSON.stringify(msgapp).includes('By the app'), 'the app answered by the app')
  },
)

test('the list stays at its newest conversation while an older one is answered', furtherWalk(), async () => {
  // Texts that arrive move the rows below them.
  allow(/^layout shift .*\/inbox\//)
  const page = await opened(ruth, '+447700900350', 'I have a long question')
  await box(page).fill('A long answer')
  const list = page.getByRole('region', { name: 'Conversations', exact: true })
  // More than the window of the list: the open conversation leaves it.
  for (let n = 51; n < 66; n++) await write(`+4477009003${n}`, `Question ${n}`)
  await rowOf(page, /Question 65/).waitFor()
  assert.equal(await list.evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop), 0)
  assert.equal(await box(page).inputValue(), 'A long answer')
  await box(page).press('Enter')
  await inThread(page, 'delivered')
  // A receipt is in the list too.
  await rowOf(page, /We: A long answer/)
    .getByRole('img', { name: 'delivered' })
    .waitFor()
})

test(
  'collision: what a colleague types is seen, a late answer stops and shows theirs, and can be sent anyway',
  furtherWalk(),
  async () => {
    allow(/409/)
    const handset = '+447700900322'
    const a = await opened(ruth, handset, 'When will it come?')
    // The line of A can be made to lag: what the server sends waits.
    let isLagging = false
    await a.routeWebSocket(/\/console\/live/, (line) => {
      const server = line.connectToServer()
      server.onMessage((frame) => {
        if (!isLagging) line.send(frame)
      })
    })
    await a.reload()
    await inThread(a, 'When will it come?')
    const b = await signIn(linus, new URL(a.url()).pathname)
    await inThread(b, 'When will it come?')
    await a.getByText('Linus Berg is here too').waitFor()
    await box(b).pressSequentially('Mon')
    await a.getByText('Linus Berg is typing …').waitFor()
    await box(a).fill('On Tuesday.')
    isLagging = true
    await box(b).fill('On Monday.')
    await box(b).press('Enter')
    await inThread(b, 'delivered')
    await box(a).press('Enter')
    const notice = a.getByRole('alert').filter({ hasText: 'Linus Berg answered. Your text was not sent.' })
    await notice.getByText('On Monday.').waitFor()
    assert.equal(await box(a).inputValue(), 'On Tuesday.', 'the text is back in the box')
    assert.deepEqual(await received(handset), ['On Monday.'])
    await isWellMade(a, 'an answer that met another one')
    await a.getByRole('button', { name: 'Send anyway' }).click()
    await until(async () => (await received(handset)).length === 2)
    assert.deepEqual(await received(handset), ['On Monday.', 'On Tuesday.'])
    await notice.waitFor({ state: 'detached' })
  },
)

test(
  'at-once: of two answers at the same moment none goes out before its writer was shown the other',
  needs('chromium'),
  async () => {
    allow(/409/)
    const rounds = process.env.TRUNKLINE_TEST_LONG ? 100 : 5
    const a = await opened(ruth, '+447700900327', 'Who answers first?')
    const b = await signIn(linus, new URL(a.url()).pathname)
    await inThread(b, 'Who answers first?')
    type Answer = { readonly by: Page; readonly seen: string; readonly item: string }
    const answers: Answer[] = []
    const replies: Promise<unknown>[] = []
    let refused = 0
    // Ids are in the order of time behind their prefix.
    const noteReply = async (by: Page, reply: Response) => {
      const { seen } = reply.request().postDataJSON()
      if (reply.status() === 409) refused += 1
      else answers.push({ by, seen: seen.slice(3), item: (await reply.json()).item.uuid.slice(3) })
    }
    const isAnswer = (reply: Response) => reply.request().method() === 'POST' && /\/messages$/.test(reply.url())
    for (const page of [a, b]) page.on('response', (reply) => isAnswer(reply) && replies.push(noteReply(page, reply)))
    for (let round = 1; round <= rounds; round += 1) {
      await Promise.all([a, b].map((page) => box(page).fill(`Answer ${round}`)))
      await Promise.all([a, b].map((page) => Promise.all([page.waitForResponse(isAnswer), box(page).press('Enter')])))
    }
    for (const page of [a, b]) await thread(page).getByText('sending').waitFor({ state: 'detached' })
    await Promise.all(replies)
    assert.ok(answers.length >= rounds, `${answers.length} answers, ${refused} refused`)
    for (const { by, seen, item } of answers) {
      const unseen = answers.filter((other) => other.by !== by && other.item > seen && other.item < item)
      assert.deepEqual(unseen, [], `${item} after ${seen}`)
    }
  },
)

test(
  'note-mention-assign: a mention is found, and an assignment is seen in every browser',
  needs('chromium'),
  async () => {
    const handset = '+447700900323'
    const a = await opened(ruth, handset, 'I need an invoice')
    await a.getByRole('tab', { name: 'Note' }).click()
    const note = a.getByRole('textbox', { name: 'Note for colleagues' })
    await note.pressSequentially('@Lin')
    await a.getByRole('listbox').getByRole('option', { name: 'Linus Berg' }).waitFor()
    await isWellMade(a, 'the list of colleagues')
    await note.press('Enter')
    await note.pressSequentially('can you do this?')
    await a.getByRole('button', { name: 'Add note' }).click()
    await thread(a).getByRole('region', { name: 'Note by Ruth Asawa' }).getByText('can you do this?').waitFor()
    const b = await signIn(linus, '/inbox/mentions')
    await rowOf(b, /I need an invoice/).waitFor()
    await b.goto(b.url().replace('mentions', 'mine'))
    await b.getByText('All done').waitFor()
    await a.getByRole('button', { name: 'Assign', exact: true }).click()
    await a.getByRole('menuitemradio', { name: 'Linus Berg' }).click()
    await rowOf(b, /I need an invoice/).waitFor()
    await inThread(a, 'You assigned the conversation to Linus Berg')
    await b.getByRole('button', { name: /^Mine.*1/ }).waitFor()
    await a.getByLabel('Assigned to').selectOption('Nobody')
    await b.getByText('All done').waitFor()
    assert.deepEqual(await received(handset), [], 'a note leaves the house never')
  },
)

test(
  'snooze-until-reply: a snoozed conversation is away, and comes back with the next text',
  furtherWalk(),
  async () => {
    const handset = '+447700900324'
    const page = await opened(ruth, handset, 'I will think about it')
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await isWellMade(page, 'the menu of snoozing')
    await page.getByRole('menuitem', { name: 'Until they reply' }).click()
    await inThread(page, 'You snoozed the conversation until a reply')
    assert.equal(await thread(page).getByText('You snoozed the conversation').count(), 1, 'one line for one act')
    await page
      .getByText(/Snoozed until they reply/)
      .first()
      .waitFor()
    await page.goto(page.url().replace(/inbox\/.*/, 'inbox/snoozed'))
    await rowOf(page, /I will think about it/).waitFor()
    await write(handset, 'I have decided')
    await rowOf(page, /I will think about it/).waitFor({ state: 'detached' })
    await page.goto(page.url().replace('snoozed', 'mine-and-unassigned'))
    await rowOf(page, /I have decided/).waitFor()
  },
)

test(
  'canned-reply: a canned reply is put at the cursor with its variables, twice in one text',
  furtherWalk(),
  async () => {
    const handset = '+447700900325'
    await call('POST', '/open/replies', {
      shortcut: 'thanks',
      title: 'Thank you',
      text: 'Thank you, {{first_name|friend}}!',
      shared: true,
    })
    const page = await opened(ruth, handset, 'All is well now')
    await box(page).pressSequentially('Hello. /tha')
    await page.getByRole('option', { name: /thanks/ }).waitFor()
    await isWellMade(page, 'the list of canned replies')
    await box(page).press('Enter')
    assert.equal(await box(page).inputValue(), 'Hello. Thank you, friend!')
    await box(page).press('Home')
    await box(page).pressSequentially('/tha')
    await page.getByRole('option', { name: /thanks/ }).click()
    assert.equal(await box(page).inputValue(), 'Thank you, friend!Hello. Thank you, friend!')
  },
)

test(
  'bulk-close: all that match are closed by one act, with progress, and come back by one more',
  furtherWalk(),
  async () => {
    const count = process.env.TRUNKLINE_TEST_LONG ? 1_200 : 60
    const { tag } = (await call('POST', '/open/tags', { name: 'Bulk' })).body
    for (let from = 0; from < count; from += 20)
      await Promise.all(
        Array.from({ length: Math.min(20, count - from) }, async (_, i) => {
          const begun = await call('POST', '/open/conversations', {
            number: `+4477100${String(from + i).padStart(5, '0')}`,
          })
          await call('PUT', `/open/conversations/${begun.body.conversation.uuid}/tags/${tag.uuid}`)
        }),
      )
    const page = await signIn(ruth, `/inbox/all?tag=${tag.uuid}`)
    await rowOf(page, /\+44 7710/).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    await page.getByText('1 conversation selected').waitFor()
    await page.keyboard.press('Control+a')
    await page.getByText('All conversations in All').waitFor()
    await isWellMade(page, 'selected conversations')
    await page.getByRole('toolbar').getByRole('button', { name: 'Close' }).click()
    await page.getByText(`${count} conversations changed`).waitFor()
    await page.getByText('No conversation has these properties').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Everything is as it was').waitFor()
    await rowOf(page, /\+44 7710/).waitFor()
  },
)

test(
  'draft-survives: what is half typed is there after another conversation, a reload, and in another browser',
  furtherWalk(),
  async () => {
    const page = await opened(ruth, '+447700900326', 'Please advise')
    await box(page).fill('My advice is')
    await rowOf(page, /Draft: My advice is/).waitFor()
    await until(async () => {
      const { uuid } = await conversationWith('+447700900326')
      const answer = await fetch(`${platform.url}/open/conversations/${uuid}/draft?kind=message`, {
        headers: { cookie: ruth.cookie },
      })
      return ((await answer.json()) as { draft?: { text: string } }).draft?.text === 'My advice is'
    })
    const path = new URL(page.url()).pathname
    await rowOf(page, /\+44 7710/).click()
    await page
      .getByRole('heading', { level: 2, name: /\+44 7710/ })
      .first()
      .waitFor()
    await page.goBack()
    await page.reload()
    const other = await signIn(ruth, path)
    await until(async () => (await box(other).inputValue()) === 'My advice is')
    const colleague = await signIn(linus, path)
    await inThread(colleague, 'Please advise')
    assert.equal(await box(colleague).inputValue(), '')
  },
)

test('the predicate of the page is that of the server', async () => {
  const [tagged] = (await call('GET', '/open/conversations?results_per_page=200')).body.conversations
  const { uuid: tag } = (await call('POST', '/open/tags', { name: 'Predicate' })).body.tag
  assert.equal((await call('PUT', `/open/conversations/${tagged.uuid}/tags/${tag}`)).status, 200)
  const { conversations } = (await call('GET', '/open/conversations?results_per_page=200')).body
  const [first] = conversations
  const at = conversations[Math.floor(conversations.length / 2)].last.at
  const queries: readonly ListQuery[] = [
    ...([{ status: 'open' }, { status: 'closed' }, { status: 'snoozed' }, { assignee: 'none' }] as const),
    ...([
      { assignee: `none,${linus.user}` },
      { tag },
      { channel_uuid: first.last.channel_uuid },
      { kind: 'sms' },
    ] as const),
    ...([{ kind: 'call' }, { unread: true }, { unread: false }, { waiting: true }, { waiting: false }] as const),
    ...([{ priority: 0 }, { priority: 1 }, { since: at }, { until: at }, { sort: 'waiting_since' }] as const),
  ]
  for (const query of queries) {
    const search = new URLSearchParams({ ...query, results_per_page: '200' } as unknown as Record<string, string>)
    const listed = (await call('GET', `/open/conversations?${search}`)).body.conversations
    const expected = conversations.filter((each: Parameters<typeof isInList>[1]) => isInList(query, each, ''))
    const ids = (rows: { uuid: string }[]) => rows.map(({ uuid }) => uuid).sort()
    assert.deepEqual(ids(listed), ids(expected), JSON.stringify(query))
  }
})

test(
  'a scheduled message is in the open thread once it is sent, though more than a page came since it was made',
  furtherWalk(),
  async () => {
    // The page may mark a text as read before the inbox has taken it in: the next event of the conversation does it again.
    allow(/404.*\/read/)
    const handset = '+447700900340'
    const page = await opened(ruth, handset, 'Remind me')
    const reminder = { from_number: number, to_number: handset, text: 'A reminder' }
    const send_at = new Date(Date.now() + 600_000).toISOString()
    assert.equal((await call('POST', '/open/sms/send', { ...reminder, send_at })).status, 202)
    for (let n = 0; n < 55; n++) await write(handset, `A later text ${n}`)
    await rowOf(page, /A later text 54/).waitFor()
    await until(async () => (await thread(page).locator('.bubble-text').count()) === 56)
    assert.equal((await call('POST', '/sandbox/clock', { advance_seconds: 600 })).status, 202)
    await inThread(page, 'A reminder')
    const texts = await thread(page).locator('.bubble-text').allTextContents()
    assert.deepEqual([texts[1], texts.length], ['A reminder', 57])
  },
)
