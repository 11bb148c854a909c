import { useState } from 'preact/hooks'
import { Button } from '../../console/parts/button.tsx'
import { Chart } from '../../console/parts/chart.tsx'
import type { Option } from '../../console/parts/choice-fields.tsx'
import { CodeBlock } from '../../console/parts/code-block.tsx'
import { Combobox } from '../../console/parts/combobox.tsx'
import { Countdown } from '../../console/parts/countdown.tsx'
import { Filters, type FilterValues } from '../../console/parts/filters.tsx'
import { Handset, type HandsetMessage } from '../../console/parts/handset.tsx'
import { List } from '../../console/parts/list.tsx'
import { Section } from '../../console/parts/page.tsx'
import { Qr } from '../../console/parts/qr.tsx'
import { Steps } from '../../console/parts/steps.tsx'
import { Timeline, type TimelineStep } from '../../console/parts/timeline.tsx'

const at = (milliseconds: number) => new Date(Date.UTC(2026, 10, 20, 9, 14, 3) + milliseconds).toISOString()

const steps: readonly TimelineStep[] = [
  {
    key: '1',
    time: at(0),
    tone: 'good',
    title: 'Accepted',
    text: 'request req_8fQk · price final $0.0420 · balance $99.96',
  },
  {
    key: '2',
    time: at(3),
    title: 'Routed',
    text: '3 ways by prefix 44, chosen by priority 1',
    link: { text: 'Why', href: '#why' },
  },
  { key: '3', time: at(5), title: 'Submitted part 1', text: 'The carrier answered in 4 ms, id 7F3A01' },
  {
    key: '4',
    time: at(1_200),
    tone: 'bad',
    title: 'Receipt for part 1',
    text: 'REJECTD err:069 – the number is not in service',
    raw: 'id:7F3A01 sub:001 dlvrd:000 submit date:2611200914 done date:2611200914 stat:REJECTD err:069 text:Is my number ported yet?',
  },
  { key: '5', time: at(1_201), title: 'Refunded', text: '$0.0420', link: { text: 'TRF01a1fcc', href: '#ledger' } },
  { key: '6', time: at(1_300), tone: 'waiting', title: 'Webhook', text: 'hook.example.com has not answered yet' },
]

const curl = `curl https://trunkline.example.com/open/sms/send \\
  -H "Authorization: Bearer $TRUNKLINE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"from_number":"+442079460018","to_number":"+447700900003","text":"Hello"}'`

const client = `import { Trunkline } from '@trunkline/client'

const trunkline = new Trunkline({ key: process.env.TRUNKLINE_KEY })
const { message_uuid } = await trunkline.sms.send({
  from_number: '+442079460018',
  to_number: '+447700900003',
  text: 'Hello',
})`

const cities: readonly Option[] = [
  { value: 'london', text: 'London', hint: '214 numbers' },
  { value: 'zrh', text: 'Zürich', hint: '12 numbers' },
  { value: 'berlin', text: 'Berlin', reason: 'Sold out' },
  { value: 'paris', text: 'Paris', hint: '98 numbers' },
  { value: 'leeds', text: 'Leeds', hint: '40 numbers' },
]

export const Finding = () => {
  const [city, setCity] = useState<Option>()
  const [person, setPerson] = useState<Option>()
  const [values, setValues] = useState<FilterValues>({ status: 'failed' })
  return (
    <Section title="Finding">
      <Filters
        values={values}
        onChange={setValues}
        filters={[
          { kind: 'search', name: 'q', label: 'Search messages' },
          {
            kind: 'choice',
            name: 'status',
            label: 'Status',
            options: [
              { value: 'delivered', text: 'Delivered' },
              { value: 'failed', text: 'Failed' },
            ],
          },
          { kind: 'choice', name: 'channel', label: 'Channel', options: [{ value: 'sms', text: 'SMS' }] },
          { kind: 'date', name: 'since', label: 'From' },
        ]}
      />
      <output aria-label="Filters set">{JSON.stringify(values)}</output>
      <div class="split">
        <Combobox name="city" label="City" options={cities} value={city} onChange={setCity} placeholder="Find a city" />
        <Combobox
          name="person"
          label="Person"
          hint="Found on the server."
          value={person}
          onChange={setPerson}
          load={async (query) => {
            if (query === 'fail') throw new Error('offline')
            return ['Ada Lovelace', 'Grace Hopper', 'Katherine Johnson']
              .filter((name) => name.toLowerCase().includes(query.toLowerCase()))
              .map((text) => ({ value: text, text }))
          }}
        />
      </div>
      <output aria-label="Chosen">{`${city?.value ?? ''} ${person?.value ?? ''}`}</output>
    </Section>
  )
}

const rows = Array.from({ length: 20_000 }, (_, index) => ({ id: `r${index}`, text: `Conversation ${index + 1}` }))
const day = 86_400_000
const times = Array.from({ length: 30 }, (_, index) => Date.UTC(2026, 9, 24) + index * day)
const wave = (index: number, size: number) => Math.round(size * (1.4 + Math.sin(index / 3) + (index % 7) / 10))

export const Rich = () => {
  const [messages, setMessages] = useState<readonly HandsetMessage[]>([
    {
      id: '1',
      direction: 'in',
      text: 'Your code is 402 117. It is valid for 10 minutes.',
      time: at(0),
      with: '+442079460018',
    },
    { id: '2', direction: 'out', text: 'Is my number ported yet?', time: at(60_000) },
    { id: '3', direction: 'in', text: 'It will be on Monday at the latest.', time: at(120_000), with: '+442079460018' },
  ])
  return (
    <>
      <Section title="Timeline">
        <Timeline
          label="Message SMO01a1fcc"
          steps={steps}
          end={{
            tone: 'bad',
            title: 'Failed: the carrier refused it',
            text: 'The number is not in service. Check it, or write to another number of the person.',
            actions: (
              <>
                <Button size="small">Send again</Button>
                <Button size="small" kind="quiet" icon="copy">
                  Copy as curl
                </Button>
              </>
            ),
          }}
        />
      </Section>
      <Section title="Code">
        <CodeBlock
          label="Send a message"
          samples={[
            { language: 'curl', code: curl },
            { language: 'TypeScript', code: client },
          ]}
        />
        <CodeBlock
          label="Answer"
          samples={[{ language: '200 in 41 ms', code: '{\n  "message_uuid": "SMO01a1fccab82e4b0f9d3c"\n}' }]}
        />
      </Section>
      <Section title="First steps">
        <div class="split">
          <Steps
            label="First steps"
            steps={[
              {
                key: 'number',
                title: 'Buy a number',
                state: 'done',
                summary: '+44 20 7946 0018',
                children: 'Bought today.',
              },
              {
                key: 'text',
                title: 'Send the first message',
                state: 'current',
                children: (
                  <div class="stack">
                    <p>The handset next to this list receives it.</p>
                    <div class="row">
                      <Button kind="primary">Run it here</Button>
                      <Countdown label="Held for" until={Date.now() + 1_661_000} />
                      <Countdown label="Held for" until={Date.now() + 61_000} />
                      <Countdown label="Held for" until={Date.now() - 1_000} />
                    </div>
                  </div>
                ),
              },
              { key: 'call', title: 'Make the first call', state: 'open', summary: 'Needs a microphone' },
              { key: 'webhook', title: 'Receive the first webhook', state: 'open' },
            ]}
          />
          <Handset
            number="+447700900003"
            messages={messages}
            onSend={(text) =>
              setMessages([...messages, { id: `${messages.length + 1}`, direction: 'out', text, time: at(180_000) }])
            }
          />
          <Handset number="+447700900004" messages={[]} />
          <Qr
            label="Pair the messaging app"
            text="2@4dRZBLxYrX2dGfWcTtxwh8HkQ7m0pYcLx1mKJ4zPnqE,abcdefghijklmnopqrstuvwxyz0123456789,0"
          />
        </div>
      </Section>
      <Section title="Charts">
        <Chart
          title="Messages a day"
          sentence="Between 23 and 96 messages a day were sent in the last 30 days, most of them delivered."
          kind="bars"
          times={times}
          hrefOf={(time) => `#day-${time}`}
          series={[
            { name: 'Delivered', values: times.map((_, index) => wave(index, 30)), tone: 'accent' },
            { name: 'Failed', values: times.map((_, index) => wave(index, 4)), tone: 'bad' },
          ]}
        />
        <Chart
          title="Time to the receipt"
          sentence="Half of the receipts arrived within 2 s; one of twenty took more than 5 s."
          kind="line"
          times={times}
          formatValue={(value) => `${value} s`}
          series={[
            { name: 'Median', values: times.map((_, index) => wave(index, 10) / 10) },
            { name: '95 %', values: times.map((_, index) => (index === 12 ? null : wave(index, 24) / 10)) },
          ]}
        />
      </Section>
      <Section title="A window on 20,000 rows">
        <div class="gallery-list">
          <List
            label="Conversations"
            rows={rows}
            rowKey={({ id }) => id}
            rowHeight={40}
            row={({ id, text }) => <a href={`#${id}`}>{text}</a>}
          />
        </div>
      </Section>
    </>
  )
}
