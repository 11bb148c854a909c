import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { needs } from '../needs.ts'
import { startPlatform, until } from '../platform.ts'
import { startGraph } from '../whatsapp-cloud/graph.ts'
import { messageNames, messageOf, openShop } from '../whatsapp-cloud/shop.ts'
import { isWellMade, joinPlatform, openPlatform } from './fixture.ts'

// Structured messages in the thread: what each kind shows, and its acts.

const platform = await startPlatform()
const graph = await startGraph()
after(async () => {
  await platform.end('SIGKILL')
  await graph.stop()
})
const { call } = platform
const { signIn } = openPlatform(platform)
const shop = await openShop(platform, graph, '+447700900323')
const ruth = await joinPlatform(platform, 'Ruth Asawa', 'admin')

const conversationWith = (person: string): Promise<string> =>
  until(async () => {
    const { conversations } = (await call('GET', '/open/conversations?results_per_page=200')).body
    return conversations.find(({ counterpart }: { counterpart: string }) => counterpart === person)?.uuid
  })

/** Opens the thread of a person, once it ends with a text. */
const opened = async (person: string, last: string) => {
  const page = await signIn(ruth, `/inbox/all/${await conversationWith(person)}`)
  const thread = page.getByRole('log', { name: 'Messages' })
  await thread.getByText(last).waitFor()
  return { page, thread }
}

test('a thread shows each kind of structured content, and loads nothing of others', needs('chromium'), async () => {
  const person = '+447911220001'
  for (const name of messageNames) await shop.write(person, messageOf(name))
  await shop.write(person, { type: 'text', text: { body: 'The last one' } })
  const { page, thread } = await opened(person, 'The last one')
  const texts = [
    ...['Pressed', 'Chose', '09:30 with Dr A', 'Filled in a form', '2026-12-01', 'About product SKU-1', 'Half price'],
    ...[
      'Came from an advertisement',
      'Ex Ltd',
      'ann@example.com',
      'Order: 2 products',
      '2 × SKU-1',
      '£21.00',
      '1 Ex St',
    ],
    ...['Answers a message that is not here', 'A message of a kind that is not shown here: request_welcome'],
  ]
  for (const text of texts) await thread.getByText(text).first().waitFor()
  assert.equal(await thread.getByText('flow token').count(), 0)
  const map = thread.getByRole('link', { name: 'Open in a map' })
  assert.match((await map.getAttribute('href')) ?? '', /^https:\/\/www\.openstreetmap\.org\/\?mlat=51\.5&mlon=-0\.12#/)
  assert.equal(await map.getAttribute('rel'), 'noreferrer noopener')
  assert.equal(await thread.getByRole('link', { name: 'Open the page' }).getAttribute('href'), 'https://fb.me/x')
  await isWellMade(page, 'a thread of structured messages')
})

test('a contact card is saved with one act, once', needs('chromium'), async () => {
  const person = '+447911220002'
  await shop.write(person, messageOf('contacts'))
  const { page, thread } = await opened(person, 'Ann Example')
  await thread.getByRole('button', { name: 'Save contact' }).click()
  await thread.getByRole('link', { name: 'Open contact' }).waitFor()
  await page.reload()
  await thread.getByRole('button', { name: 'Save contact' }).click()
  await thread.getByRole('link', { name: 'Open contact' }).click()
  await page.getByRole('heading', { name: 'Ann' }).first().waitFor()
  const { contacts } = (await call('GET', '/open/contacts')).body
  assert.partialDeepStrictEqual(contacts, [
    { first_name: 'Ann', details: [{ value: '+447911220099' }, { type: 'E', value: 'ann@example.com' }] },
  ])
  assert.equal(contacts.length, 1)
})

test('a quote leads to the message that it quotes, loaded or not', needs('chromium'), async () => {
  for (const [person, lines] of [
    ['+447911220003', 30],
    ['+447911220005', 120],
  ] as const) {
    const first = await shop.write(person, { type: 'text', text: { body: 'Is half past nine free?' } })
    const between = Array.from({ length: lines }, (_, i) =>
      JSON.stringify({ from: person.slice(1), id: `${first}.${i}`, type: 'text', text: { body: `Line ${i}` } }),
    )
    // One callback with all of them.
    assert.equal(await shop.post(between.join(',')), 200)
    await shop.write(person, { type: 'text', text: { body: 'I meant this' }, context: { id: first } })
    const { thread } = await opened(person, 'I meant this')
    const quote = thread.getByRole('link', { name: /Is half past nine free/ })
    const quoted = thread
      .getByRole('listitem')
      .filter({ hasText: 'Is half past nine free?', hasNotText: 'I meant this' })
    const isInView = async () => {
      const box = await quoted.boundingBox()
      return box !== null && box.y > 0 && box.y + box.height < 900
    }
    const isLoaded = async () => (await quoted.count()) === 1
    assert.deepEqual([await isLoaded(), (await isLoaded()) && (await isInView())], [lines < 100, false])
    await quote.click()
    await until(async () => (await isLoaded()) && (await isInView()))
  }
})

test(
  'a script in an address of an advertisement is no link, and a direction override stays in its bubble',
  needs('chromium'),
  async () => {
    const person = '+447911220004'
    const referral = { source_url: 'javascript:alert(1)', headline: 'Half \u202eprice' }
    await shop.write(person, { type: 'text', text: { body: 'Saw your ad' }, referral })
    const { page, thread } = await opened(person, 'Saw your ad')
    await thread.getByText('Half').waitFor()
    assert.equal(await thread.getByRole('link', { name: 'Open the page' }).count(), 0)
    const isolation = await page.evaluate("getComputedStyle(document.querySelector('[role=log] strong')).unicodeBidi")
    assert.match(String(isolation), /isolate|plaintext/)
  },
)
