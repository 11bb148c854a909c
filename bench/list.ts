import { type Bench, defineBench, type FigureSpec } from './bench.ts'

// All benches. The file of a bench measures while it loads, so that this list can be read without measuring.

/** The cost of an operation, which most benches report. */
const costFigures = (key: string, of: string): { [key: string]: FigureSpec } => ({
  [`${key}.node`]: { label: `${of}: CPU of Node`, unit: 'µs' },
  [`${key}.postgres`]: { label: `${of}: CPU of PostgreSQL`, unit: 'µs' },
  [`${key}.peer`]: { label: `${of}: CPU of the counterparts`, unit: 'µs' },
  [`${key}.cpu`]: { label: `${of}: CPU of all processes`, unit: 'µs', isHeadline: true },
  [`${key}.wal`]: { label: `${of}: WAL`, unit: 'B', isHeadline: true },
})

const acceptFigures = (connections: number): { [key: string]: FigureSpec } => ({
  [`accepted.${connections}`]: { label: `accepted, ${connections} connections`, unit: '/s', isHeadline: true },
  [`empty.${connections}`]: { label: `empty route, ${connections} connections`, unit: '/s' },
  [`ratio.${connections}`]: {
    label: `accepted to empty route, ${connections} connections`,
    unit: '×',
    isHeadline: true,
  },
  [`p50.${connections}`]: { label: `time of a request, ${connections} connections, p50`, unit: 'ms' },
  [`p99.${connections}`]: { label: `time of a request, ${connections} connections, p99`, unit: 'ms' },
  ...costFigures(`cost.${connections}`, `an accepted SMS, ${connections} connections`),
})

const compatFigures = (connections: number): { [key: string]: FigureSpec } => ({
  [`compat.${connections}`]: { label: `accepted in the shape of Twilio, ${connections} connections`, unit: '/s' },
  [`compat_ratio.${connections}`]: { label: `the same to the native interface, ${connections} connections`, unit: '×' },
})

const relayFigures = (key: string, what: string): { [key: string]: FigureSpec } => ({
  [`${key}.relayed`]: { label: `relayed, ${what}`, unit: '/s', isHeadline: true },
  [`${key}.kannel`]: { label: `Kannel with its file store, ${what}`, unit: '/s' },
  [`${key}.ratio`]: { label: `relayed to Kannel with its file store, ${what}`, unit: '×', isHeadline: true },
  [`${key}.spool`]: { label: `relayed to Kannel with its spool, ${what}`, unit: '×' },
  [`${key}.p50`]: { label: `from the answer to submit_sm, ${what}, p50`, unit: 'ms' },
  [`${key}.p99`]: { label: `from the answer to submit_sm, ${what}, p99`, unit: 'ms' },
  [`${key}.kannelCpu`]: { label: `Kannel with its file store, ${what}: CPU of a message`, unit: 'µs' },
  ...costFigures(`${key}.cost`, `a relayed SMS, ${what}`),
})

const delayFigures = (key: string, what: string, isHeadline: boolean): { [key: string]: FigureSpec } => ({
  [`${key}.p50`]: { label: `${what}, p50`, unit: 'ms', isHeadline },
  [`${key}.p99`]: { label: `${what}, p99`, unit: 'ms', isHeadline },
  [`${key}.p999`]: { label: `${what}, p99.9`, unit: 'ms' },
})

const paceFigures = (gateway: 'ours' | 'kannel', pace: number): { [key: string]: FigureSpec } => {
  const [key, at] = [`${gateway}.${pace}`, `${gateway === 'ours' ? '' : 'Kannel, '}${pace}/s`]
  const isHeadline = gateway === 'ours' && pace === 100
  return {
    ...delayFigures(`${key}.api`, `${at}: response of the API`, isHeadline),
    ...delayFigures(`${key}.submit`, `${at}: from the request to submit_sm`, false),
    ...delayFigures(`${key}.receipt`, `${at}: from the receipt to the webhook`, false),
    ...delayFigures(`${key}.inbound`, `${at}: from an inbound message to the webhook`, isHeadline),
    [`${key}.missing`]: { label: `${at}: callbacks that did not come`, unit: '×' },
    [`${key}.statements`]: { label: `${at}: statements of a message, nested ones included`, unit: '×' },
    ...costFigures(`${key}.cost`, `${at}, a message with receipt and webhook`),
  }
}

const idleFigures = (key: string, what: string): { [key: string]: FigureSpec } => ({
  [`${key}.cpu`]: { label: `idle, ${what}: CPU of a core`, unit: '%', isHeadline: true },
  [`${key}.statements`]: { label: `idle, ${what}: statements`, unit: '/s', isHeadline: true },
  [`${key}.wakeUps`]: { label: `idle, ${what}: wake-ups`, unit: '/s' },
  [`${key}.wal`]: { label: `idle, ${what}: WAL a second`, unit: 'B' },
})

const directFigures = (connections: number): { [key: string]: FigureSpec } => {
  const [key, at] = [`direct.${connections}`, `${connections} connection${connections === 1 ? '' : 's'}`]
  return {
    [`${key}.ours`]: { label: `accepted, ${at}`, unit: '/s' },
    [`${key}.yardstick`]: { label: `straightforward server, ${at}`, unit: '/s' },
    [`${key}.ratio`]: { label: `accepted to straightforward server, ${at}`, unit: '×', isHeadline: true },
    [`${key}.p50`]: { label: `time of a request, ${at}, p50`, unit: 'ms' },
    [`${key}.yardstickP50`]: { label: `straightforward server, time of a request, ${at}, p50`, unit: 'ms' },
  }
}

export const benches: readonly Bench[] = [
  defineBench({
    name: 'calls',
    about: 'Calls from browsers to telephones of the sandbox, while the interface answers requests.',
    rows: null,
    seconds: 10,
    rounds: null,
    flags: {
      calls: { about: 'concurrent recorded calls', default: 20 },
      setups: { about: 'calls one after another, to measure the set-up', default: 20 },
    },
    figures: {
      ring: { label: 'from INVITE to ringing', unit: 'ms', isHeadline: true },
      sound: { label: 'from the answer to the first sound', unit: 'ms' },
      loss: { label: 'packets lost on the round trip', unit: '%' },
      roundTrip: { label: 'round trip of a sound, p95', unit: 'ms', isHeadline: true },
      ...costFigures('cost', 'a second of a call'),
    },
    run: () => import('./calls.ts'),
  }),
  defineBench({
    name: 'console',
    about: 'The inbox of the web console on a slowed processor, against a page with its shell, styles and rows alone.',
    rows: null,
    seconds: null,
    flags: { throttle: { about: 'how many times slower the processor is', default: 4 } },
    figures: {
      paint: { label: 'largest paint of an inbox of 50 conversations', unit: 'ms', isHeadline: true },
      'yardstick.paint': { label: 'largest paint of the yardstick', unit: 'ms' },
      'ratio.paint': { label: 'largest paint to that of the yardstick', unit: '×', isHeadline: true },
      keys: { label: 'until j moves the selection', unit: 'ms', isHeadline: true },
      'yardstick.keys': { label: 'until j moves the selection, yardstick', unit: 'ms' },
      'ratio.keys': { label: 'until j moves the selection, to that of the yardstick', unit: '×', isHeadline: true },
      task: { label: 'longest task without slowing', unit: 'ms' },
    },
    run: () => import('./console.ts'),
  }),
  defineBench({
    name: 'console-live',
    about: 'What people of a large team wait for in two browsers: texts, answers, typing, and results of a search.',
    rows: null,
    seconds: null,
    rounds: null,
    flags: {
      conversations: { about: 'conversations of the account, a fifth of them open', default: 500_000 },
      texts: { about: 'texts of a handset', default: 200 },
      answers: { about: 'answers, and times that one begins to type', default: 60 },
      searches: { about: 'searches of each kind', default: 40 },
      only: { about: 'measures only: one, two (processes), or search', default: '' },
      url: { about: 'address of a running platform that has the data, instead of one of its own', default: '' },
      second: { about: 'address of a second process of it', default: '' },
      key: { about: 'API key of its account', default: '' },
    },
    figures: {
      text: { label: 'text of a handset until seen, p95', unit: 'ms', isHeadline: true },
      answer: { label: 'answer until seen by the other, p95', unit: 'ms', isHeadline: true },
      typing: { label: 'typing until seen by the other, p95', unit: 'ms' },
      'two.text': { label: 'text of a handset until seen, two processes, p95', unit: 'ms', isHeadline: true },
      'two.answer': { label: 'answer until seen by the other, two processes, p95', unit: 'ms' },
      'two.typing': { label: 'typing until seen by the other, two processes, p95', unit: 'ms' },
      'search.rare': { label: 'rare word until found, p95', unit: 'ms', isHeadline: true },
      'search.common': { label: 'common word until found, p95', unit: 'ms' },
      'search.number': { label: 'number until found, p95', unit: 'ms' },
      'search.name': { label: 'name until found, p95', unit: 'ms' },
    },
    run: () => import('./console-live.ts'),
  }),
  defineBench({
    name: 'console-scale',
    about: 'The inbox of a large team in a browser: acts, a long scroll, and memory while conversations are switched.',
    rows: null,
    seconds: null,
    rounds: null,
    flags: {
      conversations: { about: 'conversations of the account, a fifth of them open', default: 500_000 },
      throttle: { about: 'how many times slower the processor is, except for memory', default: 4 },
      acts: { about: 'acts, of five kinds', default: 200 },
      rows: { about: 'rows to scroll', default: 20_000 },
      minutes: { about: 'minutes of switching conversations', default: 10 },
      url: { about: 'address of a running platform that has the data, instead of one of its own', default: '' },
      key: { about: 'API key of its account', default: '' },
    },
    figures: {
      acts: { label: 'key to next paint, all acts, p95', unit: 'ms', isHeadline: true },
      open: { label: 'opening a conversation, p95', unit: 'ms' },
      next: { label: 'going to the next row, p95', unit: 'ms' },
      filter: { label: 'showing filters, p95', unit: 'ms' },
      assign: { label: 'showing assignees, p95', unit: 'ms' },
      type: { label: 'typing a letter, p95', unit: 'ms' },
      blank: { label: 'longest time with blank rows while scrolling', unit: 'ms', isHeadline: true },
      frame: { label: 'longest frame while scrolling', unit: 'ms' },
      'heap.scrolled': { label: 'heap after scrolling', unit: 'MB' },
      heap: { label: 'heap after switching conversations', unit: 'MB', isHeadline: true },
      'heap.growth': { label: 'its growth in the second half', unit: '%' },
    },
    run: () => import('./console-scale.ts'),
  }),
  defineBench({
    name: 'contacts',
    about: 'Searches among the contacts of one account, up to a million, and what they cost a second account.',
    seconds: null,
    flags: {
      most: { about: 'contacts of the largest directory', default: 1_000_000 },
      requests: { about: 'requests of each kind in a round', default: 60 },
    },
    figures: {
      search: { label: 'slowest kind of search in the largest directory, p50', unit: 'ms', isHeadline: true },
      growth: { label: 'the same to that of the smallest directory', unit: '×', isHeadline: true },
      other: { label: 'search of the second account, p50', unit: 'ms' },
      ...costFigures('cost', 'a request'),
    },
    run: () => import('./contacts.ts'),
  }),
  defineBench({
    name: 'fair',
    about: 'Response times of an account that sends little, alone and next to one that sends all it can.',
    // At the default pace, 500 responses: their p99 is the sixth longest.
    seconds: 10,
    flags: {
      pace: { about: 'messages a second of the quiet account', default: 50 },
      connections: { about: 'connections of the greedy account', default: 64 },
    },
    figures: {
      'alone.p50': { label: 'quiet account alone, p50', unit: 'ms' },
      'alone.p99': { label: 'quiet account alone, p99', unit: 'ms' },
      'beside.p50': { label: 'quiet account next to a greedy one, p50', unit: 'ms' },
      'beside.p99': { label: 'quiet account next to a greedy one, p99', unit: 'ms' },
      'ratio.p50': { label: 'quiet account next to a greedy one to alone, p50', unit: '×' },
      'ratio.p99': { label: 'quiet account next to a greedy one to alone, p99', unit: '×', isHeadline: true },
      greedy: { label: 'accepted of the greedy account', unit: '/s' },
    },
    run: () => import('./fair.ts'),
  }),
  defineBench({
    name: 'http-carrier',
    about: 'SMS from HTTP to a carrier over HTTP, which reports on each message.',
    seconds: 10,
    rounds: 3,
    flags: {
      pace: { about: 'messages a second', default: 500 },
      connections: { about: 'connections of the load', default: 32 },
      window: { about: 'requests to the carrier at a time', default: 32 },
    },
    figures: {
      p50: { label: 'from the answer to the submit over HTTP, p50', unit: 'ms' },
      p99: { label: 'from the answer to the submit over HTTP, p99', unit: 'ms', isHeadline: true },
      missing: { label: 'messages that did not arrive', unit: '×' },
      repeated: { label: 'messages that arrived again', unit: '×' },
      unreported: { label: 'receipts that were not taken', unit: '×' },
      ...costFigures('cost', 'an SMS over HTTP with its receipt'),
    },
    run: () => import('./http-carrier.ts'),
  }),
  defineBench({
    name: 'inbox',
    about: 'The shared inbox: lists among 500,000 conversations, and accepting SMS with and without the projector.',
    rows: null,
    flags: {
      conversations: { about: 'conversations of the account, a fifth of them open', default: 500_000 },
      requests: { about: 'requests of each kind in a round', default: 200 },
      only: { about: 'measures only: lists, or accepting', default: '' },
    },
    figures: {
      first: { label: 'page 1 of the open conversations, p95', unit: 'ms', isHeadline: true },
      deep: { label: 'page 1,000, p95', unit: 'ms' },
      growth: { label: 'page 1,000 to page 1, p50', unit: '×', isHeadline: true },
      counts: { label: 'counts of all lists, p95', unit: 'ms' },
      search: { label: 'conversations by a rare word of a text, p95', unit: 'ms' },
      common: { label: 'conversations by a word of half of all texts, p95', unit: 'ms' },
      on: { label: 'SMS accepted and sent over the sandbox, with the projector', unit: '/s' },
      off: { label: 'the same without it', unit: '/s' },
      'cpu.on': { label: 'accepted SMS: CPU with the projector', unit: 'µs' },
      'cpu.off': { label: 'the same without it', unit: 'µs' },
      ratio: { label: 'with the projector to without it', unit: '×', isHeadline: true },
    },
    run: () => import('./inbox.ts'),
  }),
  defineBench({
    name: 'lists',
    about: 'Requests for lists of an account with a million rows, against one with 10,000.',
    rows: null,
    seconds: null,
    rounds: null,
    flags: {
      most: { about: 'rows of the large account in each table', default: 1_000_000 },
      requests: { about: 'requests of each kind', default: 200 },
    },
    figures: {
      worst: {
        label: 'slowest list of the large account to the same of the small one, p50',
        unit: '×',
        isHeadline: true,
      },
    },
    run: () => import('./lists.ts'),
  }),
  defineBench({
    name: 'media-streams',
    about: 'Media streams to a WebSocket server that sends the audio back: delays, loss and CPU of one media worker.',
    rows: null,
    seconds: 10,
    rounds: 3,
    flags: { streams: { about: 'concurrent two-way streams', default: 60 } },
    figures: {
      roundTrip: { label: 'one stream: round trip, p95', unit: 'ms', isHeadline: true },
      roundTripTail: { label: 'one stream: round trip, p99', unit: 'ms' },
      first: { label: 'first frame of a sound to its packet, p95', unit: 'ms', isHeadline: true },
      clear: { label: 'clear to the first silent packet, p95', unit: 'ms', isHeadline: true },
      'many.toServer': { label: 'many streams: packet in to frame at the server, p95', unit: 'ms' },
      'many.toTelephone': { label: 'many streams: frame sent to packet at the telephone, p95', unit: 'ms' },
      'many.roundTrip': { label: 'many streams: round trip, p95', unit: 'ms', isHeadline: true },
      'many.roundTripTail': { label: 'many streams: round trip, p99', unit: 'ms' },
      'many.loss': { label: 'many streams: packets that did not come back', unit: '%', isHeadline: true },
      'many.cpu': { label: 'many streams: a core of the engine', unit: '%', isHeadline: true },
      'many.plain': { label: 'as many calls that play a tone: a core of the engine', unit: '%' },
    },
    run: () => import('./media-streams.ts'),
  }),
  defineBench({
    name: 'msgapp',
    about: 'Messages of the messaging app over the sandbox network: from the request, or the handset, to the webhook.',
    seconds: 5,
    flags: {
      channels: { about: 'connected numbers, for their memory', default: 1_000 },
      rate: { about: 'messages a second, for the delays', default: 100 },
    },
    figures: {
      sent: { label: 'sent, until the webhook', unit: '/s', isHeadline: true },
      received: { label: 'received, until the webhook', unit: '/s', isHeadline: true },
      empty: { label: 'empty route', unit: '/s' },
      sentRatio: { label: 'sent to empty route', unit: '×' },
      receivedRatio: { label: 'received to empty route', unit: '×' },
      sentDelay: { label: 'from the request to the webhook, p50', unit: 'ms' },
      receivedDelay: { label: 'from the handset to the webhook, p50', unit: 'ms' },
      channel: { label: 'memory of a connected number', unit: 'MB' },
      ...costFigures('sentCost', 'a sent message'),
      ...costFigures('receivedCost', 'a received message'),
    },
    run: () => import('./msgapp.ts'),
  }),
  defineBench({
    name: 'numbers',
    about: 'Searches and purchases in an inventory of up to five million numbers, and many buyers at once.',
    seconds: 10,
    flags: {
      requests: { about: 'requests of each kind in a round', default: 60 },
      most: { about: 'numbers of the largest inventory', default: 5_000_000 },
      buyers: { about: 'concurrent buyers', default: 64 },
    },
    figures: {
      slowest: { label: 'slowest kind of request in the largest inventory, p50', unit: 'ms', isHeadline: true },
      growth: { label: 'the same to that of the smallest inventory', unit: '×', isHeadline: true },
      purchases: { label: 'purchases of all buyers', unit: '/s' },
      oneGroup: { label: 'purchases from a single group', unit: '/s' },
      ...costFigures('cost', 'a purchase of many buyers'),
    },
    run: () => import('./numbers.ts'),
  }),
  defineBench({
    name: 'programs',
    about: 'Calls that programs run: delays of requests, prompts and keys, and of calls by the API.',
    rows: null,
    seconds: 10,
    rounds: 3,
    flags: {
      pace: { about: 'new calls a second', default: 20 },
      presses: { about: 'presses of a key', default: 100 },
      orders: { about: 'calls by the API', default: 60 },
    },
    figures: {
      request: { label: 'INVITE to the request of the program, p95', unit: 'ms', isHeadline: true },
      requestMedian: { label: 'the same, p50', unit: 'ms' },
      prompt: {
        label: 'answer of the program to the first packet of a cached prompt, p95',
        unit: 'ms',
        isHeadline: true,
      },
      promptMedian: { label: 'the same, p50', unit: 'ms' },
      key: { label: 'key press to the request of the program, p95', unit: 'ms', isHeadline: true },
      keyMedian: { label: 'the same, p50', unit: 'ms' },
      order: { label: 'request of the API to INVITE, p95', unit: 'ms', isHeadline: true },
      orderMedian: { label: 'the same, p50', unit: 'ms' },
      ...costFigures('cost', 'a call that hears a prompt of half a second'),
    },
    run: () => import('./programs.ts'),
  }),
  defineBench({
    name: 'queue',
    about: 'The job queue against pg-boss and graphile-worker on the same server.',
    seconds: null,
    flags: { jobs: { about: 'jobs of a round', default: 20_000 } },
    figures: {
      added: { label: 'jobs added', unit: '/s' },
      completed: { label: 'jobs completed', unit: '/s', isHeadline: true },
      pgBoss: { label: 'completed to pg-boss', unit: '×', isHeadline: true },
      graphile: { label: 'completed to graphile-worker', unit: '×', isHeadline: true },
      ...costFigures('cost', 'a job, added and completed'),
    },
    run: () => import('./queue.ts'),
  }),
  defineBench({
    name: 'ordinary',
    about:
      'Ordinary load: an idle installation, few messages a second with receipts and webhooks, and clients that send one request after another.',
    seconds: 10,
    flags: {
      paces: { about: 'messages a second, separated by commas', default: '1,10,100,1000' },
      accounts: { about: 'accounts that send, against the straightforward server', default: 1_000 },
      idle: { about: 'seconds of idling', default: 60 },
      only: { about: 'one part: direct, many, load or idle', default: '' },
    },
    figures: {
      ...directFigures(1),
      ...directFigures(64),
      ...directFigures(256),
      'many.ours': { label: 'one request of 1,000 messages', unit: '/s' },
      'many.single': { label: 'single requests at 256 connections', unit: '/s' },
      'many.ratio': { label: 'one request of 1,000 messages, of single requests at 256 connections', unit: '×' },
      ...Object.assign({}, ...[1, 10, 100, 1_000].map((pace) => paceFigures('ours', pace))),
      ...Object.assign({}, ...[1, 10, 100, 1_000].map((pace) => paceFigures('kannel', pace))),
      ...idleFigures('idle.plain', 'without the sandbox'),
      ...idleFigures('idle.sandbox', 'with the sandbox'),
    },
    run: () => import('./ordinary.ts'),
  }),
  defineBench({
    name: 'relay',
    about: 'SMS from HTTP to the carrier, without and with receipts and callbacks, against Kannel.',
    seconds: 5,
    flags: {
      pace: { about: 'messages a second, for the delays', default: 1_000 },
      connections: { about: 'connections of the load', default: 32 },
      only: { about: 'measures the gateways whose name contains the word', default: '' },
      receipts: { about: 'true: only with receipts; false: only without', default: '' },
      profile: { about: 'folder for a CPU profile of the platform', default: '' },
    },
    figures: {
      ...relayFigures('plain', 'without receipts'),
      ...relayFigures('receipts', 'with receipts and callbacks'),
    },
    run: () => import('./relay.ts'),
  }),
  defineBench({
    name: 'sms',
    about: 'SMS accepted over HTTP: durable, authenticated, priced and paid for, against an empty Fastify route.',
    flags: {
      roles: { about: 'roles of the platform', default: 'api' },
      profile: { about: 'folder for a CPU profile of the platform', default: '' },
    },
    figures: { ...acceptFigures(64), ...acceptFigures(256), ...compatFigures(64), ...compatFigures(256) },
    run: () => import('./sms.ts'),
  }),
  defineBench({
    name: 'start',
    about: 'Warm starts, and the memory of all processes at rest, against an earlier version.',
    rows: null,
    seconds: null,
    flags: {
      commit: { about: 'the earlier version. Default: the last release', default: '' },
      sandbox: { about: 'true: with the carriers of the sandbox', default: 'false' },
    },
    figures: {
      start: { label: 'warm start', unit: 'ms' },
      memory: { label: 'memory at rest', unit: 'MB' },
      'former.start': { label: 'the earlier version: warm start', unit: 'ms' },
      'former.memory': { label: 'the earlier version: memory at rest', unit: 'MB' },
      'ratio.start': { label: 'warm start to that of the earlier version', unit: '×' },
      'ratio.memory': { label: 'memory to that of the earlier version', unit: '×' },
    },
    run: () => import('./start.ts'),
  }),
  defineBench({
    name: 'voice',
    about: 'CPU and packet loss of one media worker, against rtpengine.',
    rows: null,
    seconds: 10,
    flags: { calls: { about: 'concurrent calls', default: 20 } },
    figures: {
      recorded: { label: 'a core for a recorded call from a browser', unit: '%', isHeadline: true },
      rtpengine: { label: 'the same of rtpengine', unit: '%' },
      ratio: { label: 'CPU to that of rtpengine', unit: '×', isHeadline: true },
      loss: { label: 'packets lost', unit: '%' },
    },
    run: () => import('./voice.ts'),
  }),
  defineBench({
    name: 'webhooks',
    about:
      'Webhooks: events recorded and delivered, against a bare keep-alive client, and many quiet receivers with and without dead ones.',
    seconds: 5,
    flags: {
      pairs: { about: 'rounds with and without dead receivers', default: 9 },
      rate: { about: 'events a second over 1,000 quiet receivers', default: 200 },
      only: { about: 'one part: throughput or quiet', default: '' },
    },
    figures: {
      delivered: { label: 'recorded and delivered', unit: '/s', isHeadline: true },
      client: { label: 'bare client', unit: '/s' },
      ratio: { label: 'delivered to bare client', unit: '×', isHeadline: true },
      clientCpu: { label: 'bare client: CPU of a request', unit: 'µs' },
      ...costFigures('cost', 'a delivered event'),
      delay: { label: '1,000 receivers after a change: from the cause to the arrival, p50', unit: 'ms' },
      delayTail: { label: 'the same, p99', unit: 'ms' },
      'quiet.p50': { label: '1,000 receivers at 200 events a second: delay, p50', unit: 'ms', isHeadline: true },
      'quiet.p99': { label: '1,000 receivers at 200 events a second: delay, p99', unit: 'ms', isHeadline: true },
      'beside.p50': { label: 'the same next to a busy receiver, p50', unit: 'ms' },
      'beside.p99': { label: 'the same next to a busy receiver, p99', unit: 'ms' },
      'quiet.statements': { label: 'an event of 1,000 receivers at 200 a second: statements', unit: '×' },
      'quiet.recording': { label: 'the same event recorded without a subscriber: CPU of all processes', unit: 'µs' },
      'quiet.delivery': { label: 'the same event beyond that: CPU of all processes', unit: 'µs', isHeadline: true },
      ...costFigures('quiet', 'an event of 1,000 receivers at 200 a second'),
    },
    run: () => import('./webhooks.ts'),
  }),
  defineBench({
    name: 'whatsapp-web',
    about: 'Memory of the platform with linked WhatsApp Web numbers, over the network of the tests.',
    rows: null,
    seconds: null,
    rounds: null,
    flags: {
      channels: { about: 'linked numbers', default: 100 },
      people: { about: 'people who exchange messages with one number', default: 1_000 },
    },
    figures: {
      each: { label: 'memory of a linked number', unit: 'MB', isHeadline: true },
      ...costFigures('cost', 'an exchange of two messages'),
    },
    run: () => import('./whatsapp-web.ts'),
  }),
]
